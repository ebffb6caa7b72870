import type { HooksShape } from '../../src/hosts/config/hook-entries.ts'
import { eventNames, type Moment } from '../../src/hosts/events.ts'

/** For tests: the events that a host is to ask us at. */
export function hookMomentsOf({ host, also = [] }: Pick<HooksShape, 'host' | 'also'>): string[] {
  const moments: readonly Moment[] = ['session-start', 'after-tool', 'after-failed-tool', 'before-compaction', 'after-compaction', 'session-end', ...also]
  return moments.flatMap((moment) => eventNames[host][moment] ?? [])
}
