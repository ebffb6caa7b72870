import { gathering, ranks } from './parts.ts'
import { recentLines, tellsTrouble } from './recent-lines.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const own = /^(?:g|mingw32-|p)?make(?:\.exe)?(?:\[(\d{1,3})\])?: (.*)$/
// `*** [Makefile:4: store.o] Error 1`; older ones do not name the line.
const recipe = /^\*\*\* \[(?:([^\s:[\]]{1,300}:\d{1,7}): )?(.{1,1000})\] (.+)$/
// `Error 2` in the language of the user.
const echo = /^\p{L}+ 2$/u
// Compilers tell of themselves, and of more than the target that failed.
const ofCompiler = /^\s*\d{0,7} \|| (?:warning|note): |^In file included from /
const refusal = /^\*\*\* (.{1,1000}?)\. {1,2}Stop\.$/
const inMakefile = /^([^\s:]{1,300}:\d{1,7}): \*\*\* (.{1,1000}?)\.? {1,2}Stop\.$/
const tolerated = /^\[.{1,1000}\] Error \d{1,5} \(ignored\)$|^warning: /
const overriding = /^[^\s:]{1,300}:\d{1,7}: warning: (?:overriding|ignoring old) (?:recipe|commands) for target /
const closing = /^(?:\*\*\* |\[.{1,1000}\] |Entering |Leaving |Nothing )/
const idle = /^Nothing to be done for |^[`'].{1,300}' is up to date\.$/

export const make: Recogniser = {
  name: 'make',
  signs:
    /^(?:g|mingw32-|p)?make(?:\.exe)?(?:\[\d{1,3}\])?: (?:\*\*\* |\[.{1,1000}\] Error \d{1,5} \(ignored\)|Nothing to be done for |[`'].{1,300}' is up to date\.)|^[^\s:]{1,300}:\d{1,7}: \*\*\* .{1,1000}\. {1,2}Stop\.$/,
  open() {
    const said = gathering('make', 'target')
    const recent = recentLines(12)
    let deepest = 0
    let warnings = 0

    const fail = (line: LogLine, title: string, place: string | undefined): void => {
      const open = said.failure(line, title, place)
      const before = recent.before(line).filter(({ text }) => !ofCompiler.test(text))
      for (const detail of before.slice(0, 4)) open.detail(detail, tellsTrouble(detail.text) ? ranks.message : ranks.other)
    }
    const warn = (line: LogLine): void => {
      warnings += 1
      said.warning(line)
    }
    const read = (line: LogLine, level: number, message: string): void => {
      const found = recipe.exec(message)
      const refused = refusal.exec(message)
      // A make that ran another make fails with its status: that says nothing new.
      if (found && level < deepest && echo.test(found[3] as string)) said.total(line)
      else if (found) fail(line, `${found[2]}: ${found[3]}`, found[1])
      else if (refused) fail(line, refused[1] as string, undefined)
      else if (tolerated.test(message)) warn(line)
      else if (idle.test(message)) said.total(line)
      if (found || refused) deepest = Math.max(deepest, level)
    }

    return {
      line(line) {
        const found = own.exec(line.text)
        if (found) {
          const message = found[2] as string
          read(line, Number(found[1] ?? 0), message)
          // What make says of a program that it could not start explains the failure after it.
          if (closing.test(message)) recent.clear()
          else recent.add(line)
          return
        }
        const refused = inMakefile.exec(line.text)
        if (refused) fail(line, refused[2] as string, refused[1])
        else if (overriding.test(line.text)) warn(line)
        else recent.add(line)
      },
      end: () => said.result({ failed: said.failures || undefined, warnings: warnings || undefined }),
    }
  },
}
