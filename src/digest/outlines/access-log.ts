import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source, type SourceLine } from './source.ts'

// The common and the combined format of web servers: host ident user [time] "METHOD path protocol" status bytes ...
const request = /^(\S{1,100}) \S{1,100} .{1,100}? ?\[([^\]]{10,40})\] "([A-Z]{3,10}) ([^" ]{1,2000})[^"]{0,40}" (\d{3}) (\d{1,15}|-)/
const minRequests = 10
const maxNames = 500

/** Requests to a web server: by status, method and path, from when to when, and those that failed. */
export function accessLog(source: Source): Found | undefined {
  const alike = source.probe.filter(({ text }) => request.test(text)).length
  if (alike < minRequests || alike < source.probe.length * 0.9) return undefined
  const statuses = new Map<string, number>()
  const methods = new Map<string, number>()
  const paths = new Map<string, number>()
  const failed: SourceLine[] = []
  const refused = new Map<string, SourceLine>()
  let requests = 0
  let from = ''
  let to = ''
  for (const line of source.lines()) {
    const match = request.exec(line.text)
    if (!match) continue
    const [, , time, method, path, status] = match as unknown as [string, string, string, string, string, string]
    requests += 1
    if (from === '') from = time
    to = time
    count(statuses, status)
    count(methods, method)
    count(paths, path.split('?')[0] ?? path)
    if (status.startsWith('5')) {
      failed.push(line)
      if (failed.length > 6) failed.splice(3, 1)
    } else if (status.startsWith('4') && !refused.has(status)) refused.set(status, line)
  }
  const facts = [
    `${plural(requests, 'request')}, ${from} to ${to}${source.unread > 0 ? `; ${plural(source.unread, 'more line')} not looked at` : ''}`,
    `status: ${listed(statuses, 12)}`,
    `method: ${listed(methods, 8)}`,
    `path: ${listed(paths, 8)}`,
  ]
  const rows = [...failed, ...refused.values()].map(({ ref }) => ref)
  return {
    kind: 'access log',
    facts,
    rows: [...rows, ...edges(refsOf(source.probe.slice(0, 1)), refsOf(source.last(1)))],
  }
}

function count(counts: Map<string, number>, name: string): void {
  if (counts.has(name) || counts.size < maxNames) counts.set(name, (counts.get(name) ?? 0) + 1)
}

function listed(counts: ReadonlyMap<string, number>, most: number): string {
  const sorted = [...counts].sort((a, b) => b[1] - a[1])
  const shown = sorted.slice(0, most).map(([name, times]) => `${name} ${times}`)
  return `${shown.join(', ')}${sorted.length > most ? `, and ${sorted.length - most} more` : ''}`
}
