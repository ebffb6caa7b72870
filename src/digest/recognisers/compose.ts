import { lineHead } from '../log.ts'
import { gathering, ranks } from './parts.ts'
import { recentLines, tellsTrouble } from './recent-lines.ts'
import type { Recogniser } from './recogniser.ts'

const exited = /^(\S{1,100}) exited with code (\d{1,5})(?: \(restarting\))?$/
const refused =
  /^(?:dependency failed to start: |service "[^"]{1,100}" (?:depends on undefined|refers to undefined|didn't complete|has neither|conflicts)|no such service: |no configuration file provided: |validating \S{1,300}: |parsing \S{1,300}: |env file \S{1,300} not found|ERROR: for \S{1,100} {2})/
const unhealthy = /^\s*(?:✘ )?(?:Container|Service) \S{1,100} +(?:Error|Unhealthy)\b/
const started = /^\s*(?:✔ )?Container \S{1,100} +(?:Started|Healthy|Running)\b/
const inYaml = /^parsing (\S{1,300}): yaml: line (\d{1,7}): /
const warned = /^time=\S{1,60} level=warning msg=/

/** `docker compose`: refused projects, services that do not start, and containers that end. */
export const compose: Recogniser = {
  name: 'compose',
  signs:
    /^\s*(?:[✔✘⠿] )?(?:Container|Network|Volume) \S{1,100} {2,}(?:Creating|Created|Starting|Started|Running|Waiting|Healthy|Error|Stopping|Stopped|Removed)\b|^\S{1,100}[-_]\d{1,3} exited with code \d|^dependency failed to start: container |^no configuration file provided: not found$|^(?:validating|parsing) \S{0,300}compose\S{0,50}\.ya?ml: |^service "[^"]{1,100}" (?:depends on|refers to) undefined |^ERROR: for \S{1,100} {2}/,
  open() {
    const said = gathering('compose', 'service')
    const recent = recentLines(40)
    return {
      line(line) {
        const { text } = line
        const end = exited.exec(text)
        if (end) {
          const [, name, code] = end as unknown as [string, string, string]
          if (code === '0') return
          const open = said.failure(line, text)
          // Whose line it is stands before it in the log alone.
          const own = recent.before(line).filter(({ ref }) => lineHead(ref).trimStart().startsWith(`${name} `))
          for (const before of own.slice(0, 6)) open.detail(before, tellsTrouble(before.text) ? ranks.message : ranks.other)
        } else if (refused.test(text)) {
          const at = inYaml.exec(text)
          said.failure(line, text, at ? `${at[1]}:${at[2]}` : undefined)
        } else if (unhealthy.test(text) || started.test(text)) said.total(line)
        else if (warned.test(text)) said.warning(line)
        else recent.add(line)
      },
      end: () => said.result({ failed: said.failures || undefined, warnings: said.warnings || undefined }),
    }
  },
}
