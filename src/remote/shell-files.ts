import type { Site } from '../core/channel.ts'
import { failure } from '../core/errors.ts'
import type { Files } from '../core/files.ts'

/** Files of a site without a supervisor. */
export function createShellFiles(site: Site): Files {
  throw failure('supervisor_needed', { what: 'working with files', why: `there is none at ${site.title}` })
}
