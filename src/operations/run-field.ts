import { text } from './fields.ts'

/** The field that names a run, the same in every operation. */
export function runField() {
  return text('The run: its id, a unique beginning of it, or "last".', { accepted: 'a run id, a unique prefix of one, or "last"' })
}
