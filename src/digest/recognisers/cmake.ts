import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'

const headline =
  /^CMake (?:Internal )?((?:Deprecation )?(?:Error|Warning))(?: \(dev\))?(?: (?:at|in) ([^\s:]{1,300}(?::\d{1,7})?)(?: \([\w-]{1,100}\))?)?:(?: (.+))?$/
const caller = /^\s+([^\s:]{1,300}:\d{1,7}) \([\w-]{1,100}\)$/
const outcome = /^-- (?:Configuring incomplete, errors occurred!|Generating done|Build files have been written to: )|^CMake Generate step failed/
// Modules of CMake itself, which fail on behalf of who calls them.
const module = /\/share\/cmake[^/]{0,20}\/|\/vcpkg\/scripts\//
const maxTitleChars = 200

/** The configure and generate steps; what a build prints is of make, ninja and the compilers. */
export const cmake: Recogniser = {
  name: 'cmake',
  signs:
    /^CMake (?:Internal )?(?:Deprecation )?(?:Error|Warning)(?: \(dev\))?(?: at | in |:)|^-- (?:Configuring incomplete, errors occurred!|Build files have been written to: )/,
  open() {
    const said = gathering('cmake', 'error')
    let errors = 0
    let warnings = 0
    let open: OpenFailure | undefined
    let isTitled = false
    let isTitling = false
    let isWarning = false
    return {
      line(line) {
        const { text } = line
        const found = headline.exec(text)
        if (found) {
          isWarning = String(found[1]).endsWith('Warning')
          isTitled = found[3] !== undefined
          isTitling = false
          if (isWarning) {
            warnings += 1
            said.warning(line)
            open = undefined
          } else {
            errors += 1
            open = said.failure(line, found[3] ?? text, found[2])
          }
          return
        }
        if (outcome.test(text)) said.total(line)
        if (text === '') {
          isTitling = false
          return
        }
        if (/^\S/.test(text)) {
          // The heading of the callers goes on with a diagnosis, anything else ends it.
          if (!text.startsWith('Call Stack')) {
            open = undefined
            isWarning = false
          }
          return
        }
        if (isWarning && !isTitled) said.warning(line)
        const by = caller.exec(text)?.[1]
        if (!open) {
          isTitled = true
          return
        }
        if (by === undefined) {
          // The first paragraph of a message, which CMake breaks into lines.
          if (!isTitled) open.title = text.trim()
          else if (isTitling && open.title.length < maxTitleChars) open.title += ` ${text.trim()}`
          isTitling = isTitling || !isTitled
          isTitled = true
          open.detail(line, ranks.message)
        } else if (!module.test(by)) {
          if (open.place === undefined || module.test(open.place)) open.place = by
          open.detail(line, ranks.place)
        }
      },
      end: () => said.result({ errors: errors || undefined, warnings: warnings || undefined }),
    }
  },
}
