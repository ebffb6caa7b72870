import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { isCommandNotFound, scriptHeader } from './scripts.ts'

const error = /^npm (?:ERR!|error)(?: (.*))?$/
const warning = /^npm (?:WARN|warn) (\S+) ?(.*)$/
const installed = /^(?:added|removed|changed|up to date|audited)\b.{0,160} (?:packages?|in \d[\d.]{0,9}m?s)(?: in \d[\d.]{0,9}m?s)?$/
const vulnerabilities = /^(?:found )?\d{1,7} (?:\w{1,10} (?:severity )?)?vulnerabilit(?:y|ies)(?: \(.{1,80}\))?$/
// What says that a script failed, which its own output said better.
const echo =
  /^(?:Test failed\. {2}See above|Exit status \d|Failed at the .* script|This is probably not a problem with npm|Lifecycle script `[^`]{1,200}` failed with error)/
const silent =
  /^(?:A complete log of this run|For a full report see|\S{0,200}_logs[\\/]|code \S+$|errno |syscall |path |location |command failed$|dest |\d{3}$|gyp (?:info|verb|http) |gyp ERR! (?:cwd|node -v|node-gyp -v|System|not ok|command))/
// What npm explains to everybody: the options of the command.
const usage = /^(?:Clean install a project|Install a package|Usage:|Options:|To see a list of scripts, run:)/
const telling = /(?:fatal )?error:|\bError: |ERR! stack Error|^(?:While resolving|Found|Could not resolve|Conflicting|Missing|Invalid):|^peer /
const maxBlock = 400

/** npm from 6 on: errors of its commands, failed scripts, warnings, and what it installed. */
export const npm: Recogniser = {
  name: 'npm',
  signs:
    /^npm (?:ERR!|error|WARN|warn) \S|^(?:added|removed|changed) \d{1,7} packages?\b.{0,120} in \d[\d.]{0,9}m?s$|^up to date(?:, audited \d{1,7} packages?)? in \d[\d.]{0,9}m?s$|^found \d{1,7} vulnerabilities$|^> (?:@[\w.-]{1,100}\/)?[\w.-]{1,100}@\d[\w.+-]{0,60} [\w:.-]{1,100}$/,
  open() {
    const found = gathering('npm', 'error')
    let block: LogLine[] = []
    let inUsage = false
    let last = ''
    let header = false
    const say = (line: LogLine): string => (error.exec(line.text)?.[1] ?? '').trim()
    const close = (): void => {
      const lines = block
      block = []
      inUsage = false
      if (lines.length === 0) return
      const words = lines.map(say)
      const scripts = words.find((text) => /^(?:code ELIFECYCLE|Test failed\.)/.test(text))
      if (scripts !== undefined && !words.some((text) => /^(?:gyp ERR!|command sh )/.test(text))) {
        for (const line of lines) if (/^(?:Test failed|\S+@\S+ \S+: `|Exit status)/.test(say(line))) found.total(line)
        return
      }
      const workspace = lines.find((line) => /^workspace /.test(say(line)))
      const heads = lines.filter((line) => say(line) !== '' && !silent.test(say(line)))
      if (heads.length === 0 && lines.every((line) => !/^code /.test(say(line)))) return
      const first = heads.find((line) => !echo.test(say(line)) && !/^workspace /.test(say(line))) ?? heads[0] ?? lines[0]
      if (first === undefined) return
      const code = /^code (\S+)$/.exec(words.find((text) => text.startsWith('code ')) ?? '')?.[1]
      const title = say(first)
      const open = found.failure(first, code === undefined || title.includes(code) || /^\d+$/.test(code) ? title : `${code}: ${title}`)
      for (const line of lines) {
        const text = say(line)
        if (line === first || text === '') continue
        if (line === workspace || telling.test(text)) {
          open.detail(line, ranks.message)
          open.place ??= placeIn(text)
        } else if (/^(?:code|path) /.test(text)) open.detail(line, ranks.place)
        else if (!silent.test(text)) open.detail(line, ranks.other)
      }
    }
    return {
      line(line) {
        const { text } = line
        const failed = error.exec(text)
        if (failed) {
          const words = failed[1] ?? ''
          // A second error begins with its code.
          if (block.length > 0 && (/^code /.test(words) || /^Lifecycle script /.test(words)) && !echo.test(say(block.at(-1) as LogLine))) close()
          inUsage ||= usage.test(words)
          if (!inUsage && block.length < maxBlock) block.push(line)
          return
        }
        close()
        const warned = warning.exec(text)
        if (warned) {
          const [, word = '', rest = ''] = warned
          // A warning of several lines repeats its first word.
          if (word === 'deprecated' || word !== last) found.warning(line)
          last = rest === '' && word !== 'deprecated' ? last : word
          return
        }
        last = ''
        if (installed.test(text) || vulnerabilities.test(text)) found.total(line)
        else if (header && isCommandNotFound(text)) found.failure(line, text)
        if (text !== '') header = scriptHeader.test(text) || (header && text.startsWith('> '))
      },
      end() {
        close()
        return found.result({ errors: found.failures || undefined, warnings: found.warnings || undefined })
      },
    }
  },
}
