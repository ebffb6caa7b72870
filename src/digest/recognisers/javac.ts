import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'

// Some runners print the name of their task before the first diagnosis, on its line.
const diagnosis = /^(?::[\w:-]{1,100}(?=\/))?([^\s:][^:]{0,300}\.java:\d{1,7}): (error|warning): (.+)$/
// Without a file, only what no other tool says.
const bare =
  /^(error|warning): (?:\[\w{1,30}\] |file not found: |warnings found and -Werror|invalid (?:flag|source release|target release)|release version |no source files|error reading |Class names, )/
// Ant puts its task before every line.
const ofAnt = /^\s*\[javac\] ?/
const total = /^(\d{1,9}) (error|warning)s?$/
const comparison = /^\s{2,}(?:symbol|location|required|found|reason|where)\b/

export const javac: Recogniser = {
  name: 'javac',
  signs:
    /^(?:\s*\[javac\] |:[\w:-]{1,100}(?=\/))?[^\s:][^:]{0,300}\.java:\d{1,7}: (?:error|warning): |^error: (?:file not found: .{1,300}\.java$|warnings found and -Werror specified)/,
  open() {
    const said = gathering('javac', 'error')
    const counted = { error: 0, warning: 0 }
    const stated = { error: 0, warning: 0 }
    let open: OpenFailure | undefined
    return {
      line(line) {
        const text = line.text.replace(ofAnt, '')
        const found = diagnosis.exec(text)
        const kind = found?.[2] ?? bare.exec(text)?.[1]
        if (kind === 'error' || kind === 'warning') {
          counted[kind] += 1
          open = kind === 'error' ? said.failure(line, found?.[3] ?? text.slice('error: '.length), found?.[1]) : undefined
          if (kind === 'warning') said.warning(line)
          return
        }
        const sum = total.exec(text)
        if (sum) {
          stated[sum[2] as 'error' | 'warning'] += Number(sum[1])
          said.total(line)
        }
        if (!/^\s/.test(text)) open = undefined
        else if (/[\p{L}\p{N}]/u.test(text)) open?.detail(line, comparison.test(text) ? ranks.comparison : ranks.source)
      },
      end: () => said.result({ errors: Math.max(counted.error, stated.error) || undefined, warnings: Math.max(counted.warning, stated.warning) || undefined }),
    }
  },
}
