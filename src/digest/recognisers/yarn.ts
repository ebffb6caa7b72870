import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'
import { isCommandNotFound } from './scripts.ts'

const classic = /^yarn (\w[\w-]{0,40}) v\d{1,3}\.\d{1,5}\.\d/
const classicError = /^error (\S.*)$/
const classicEnd = /^(?:Done in \d[\d.]{0,9}s\.|success .*)$/
const berry = /^➤ (YN\d{4}): (?:[│┌└·] ?)?(.*)$/
const berryEnd = /^(?:Done|Failed) with (?:errors|warnings) in |^Done in \d/
const plainError =
  /^(?:Usage|Internal|Type)? ?Error: (?:Couldn't find a script named|The lockfile would have been|No project found|Couldn't find the node_modules state file).*$|^Usage Error: \S.*$|^Internal Error: \S.*$/
const workspaceFailed = /^The command failed in workspace (\S{1,200}) with exit code \d/
// From `yarn explain`: the rest of the codes informs.
const errorCodes = new Set(
  '0001 0009 0010 0011 0012 0014 0015 0016 0017 0018 0020 0021 0022 0023 0024 0025 0026 0027 0028 0030 0033 0034 0035 0037 0038 0039 0040 0041 0042 0043 0044 0045 0046 0047 0051 0052 0055 0056 0058 0064 0066 0067 0071 0075 0078 0079 0080 0081 0082 0083 0084 0091'
    .split(' ')
    .map((code) => `YN${code}`),
)
const warningCodes = new Set('0002 0003 0005 0031 0050 0057 0059 0060 0061 0068 0069 0074 0086'.split(' ').map((code) => `YN${code}`))

/** Yarn, both of them: the classic one up to 1.22, and the one from 2 on with a code on each line. */
export const yarn: Recogniser = {
  name: 'yarn',
  signs:
    /^yarn (?:run|install|add|remove|upgrade|global|test|check|pack|publish|link|workspaces?|audit|import|autoclean) v\d{1,3}\.\d{1,5}\.\d|^➤ YN\d{4}: |^info Visit https:\/\/yarnpkg\.com\/|^error Command failed with exit code \d{1,5}\.$|^The command failed in workspace \S{1,200} with exit code \d|^Usage Error: Couldn't find a script named "/,
  open() {
    const found = gathering('yarn', 'error')
    let running = true
    let code: string | undefined
    let started = false
    let current: OpenFailure | undefined
    return {
      line(line) {
        const { text } = line
        const opened = classic.exec(text)
        const said = berry.exec(text)
        const failed = classicError.exec(text)
        const workspace = workspaceFailed.exec(text)
        if (opened) {
          running = opened[1] === 'run'
          started = false
        } else if (said) {
          const [, next = '', words = ''] = said
          if (berryEnd.test(words)) found.total(line)
          // The change that a lock file would need is printed with the code of the error that says so.
          else if (errorCodes.has(next) && words !== '' && !(next === 'YN0028' && /^[-+@]/.test(words))) {
            if (current && code === next && words.startsWith('  ')) current.detail(line, ranks.message)
            else current = found.failure(line, words.trim())
          } else if (warningCodes.has(next)) found.warning(line)
          code = next
        } else if (/^error Command failed with exit code \d/.test(text)) {
          found.total(line)
          current = undefined
        } else if (failed && (!running || /^(?:Command "|Couldn't find |An unexpected error)/.test(failed[1] as string)))
          current = found.failure(line, failed[1] as string)
        else if (/^info Visit /.test(text)) current = undefined
        else if (/^warning \S/.test(text) && !running) found.warning(line)
        else if (classicEnd.test(text) || berryEnd.test(text)) found.total(line)
        else if (workspace) found.failure(line, text)
        else if (plainError.test(text)) current = found.failure(line, text)
        else if (started && isCommandNotFound(text)) found.failure(line, text)
        else if (current && text !== '') current.detail(line, ranks.message)
        if (text !== '') started = /^\$ \S/.test(text)
      },
      end: () => found.result({ errors: found.failures || undefined, warnings: found.warnings || undefined }),
    }
  },
}
