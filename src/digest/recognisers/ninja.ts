import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import { tellsTrouble } from './recent-lines.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const failed = /^FAILED: (?:\[code=\d{1,3}\] )?(\S.*)$/
const step = /^\[(\d{1,7})\/(\d{1,7})\] /
const own = /^ninja: (error|fatal|warning): (.+)$/
const outcome = /^ninja: (?:build stopped: |no work to do\.)/

export const ninja: Recogniser = {
  name: 'ninja',
  signs:
    /^ninja: (?:error|fatal|warning|build stopped|no work to do|Entering directory)|^\[\d{1,7}\/\d{1,7}\] (?:Building|Linking) (?:ASM|C|CXX|CUDA|Fortran|HIP|ISPC|OBJC|OBJCXX|Swift) |^\[\d{1,7}\/\d{1,7}\] (?:Compiling C(?:\+\+)? object|Linking target) /,
  open() {
    const said = gathering('ninja', 'step')
    let open: OpenFailure | undefined
    let isCommand = false
    let last: LogLine | undefined
    return {
      line(line) {
        const { text } = line
        const target = failed.exec(text)?.[1]
        if (target !== undefined) {
          open = said.failure(line, target.trim())
          isCommand = true
          return
        }
        const counted = step.exec(text)
        if (counted) {
          open = undefined
          last = counted[1] === counted[2] ? line : undefined
        } else if (outcome.test(text)) {
          open = undefined
          said.total(line)
        } else if (own.test(text)) {
          const [, kind, message] = own.exec(text) as RegExpExecArray
          if (kind === 'warning') said.warning(line)
          else said.failure(line, message as string)
        } else if (open && isCommand) {
          // The command that failed comes first; its output says more.
          isCommand = false
          open.detail(line, ranks.other)
        } else if (open) {
          const isTelling = tellsTrouble(text)
          if (isTelling && !/\bwarning\b|\bnote\b/.test(text)) open.place ??= placeIn(text)
          if (/[\p{L}\p{N}]/u.test(text)) open.detail(line, isTelling ? ranks.message : ranks.source)
        }
      },
      end() {
        if (last && said.failures === 0) said.total(last)
        return said.result({ failed: said.failures || undefined, warnings: said.warnings || undefined })
      },
    }
  },
}
