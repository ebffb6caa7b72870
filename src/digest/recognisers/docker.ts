import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import { recentLines, tellsTrouble } from './recent-lines.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const step = /^#(\d{1,4}) (\[.{1,100}\] .+)$/
const stepFailed = /^#(\d{1,4}) ERROR: (.+)$/
const stepWarned = /^#\d{1,4} WARN: /
const block = /^ ?> (\[.{1,100}\] .+?):?$/
const blockLine = /^\d{1,6}\.\d{1,4} (.*)$/
const inDockerfile = /^([^\s:]{1,300}:\d{1,7})$/
const pointedAt = /^ {1,8}\d{1,7} \| >>> /
const verdict = /^(?:ERROR: |error: |target \S{1,100}: )?failed to (?:solve|build): (.+)$/
const oldStep = /^Step (\d{1,4}\/\d{1,4} : .+)$/
const oldFailed = /^The command '.{1,2000}' returned a non-zero code: \d{1,5}$/
const refused = /^(?:docker: )?((?:Error response from daemon: |Cannot connect to the Docker daemon at |unable to prepare context: |(?:COPY|ADD) failed: ).+)$/
const built = /^#\d{1,4} naming to |^Successfully (?:built|tagged) /
const maxSteps = 500
/** A refusal without what it names last: scripts that tidy up are refused dozens of times alike, and go on. */
const refusalKind = (refusal: string): string => refusal.replace(/: [^:]*$/, '')

/** `docker build`, by BuildKit with plain progress and by the legacy builder, and refusals of the daemon. */
export const docker: Recogniser = {
  name: 'docker',
  signs:
    /^#\d{1,4} (?:\[(?:internal|[\w. -]{0,120}\d{1,3}\/\d{1,3})\] |ERROR: |naming to )|^ ?=> ERROR \[|^ERROR: failed to (?:solve|build): |^Step \d{1,4}\/\d{1,4} : [A-Z]+ |^The command '.{1,2000}' returned a non-zero code: \d|^(?:docker: )?(?:Error response from daemon: |Cannot connect to the Docker daemon at )|^unable to prepare context: /,
  open() {
    const said = gathering('docker', 'step')
    const recent = recentLines(8)
    const steps = new Map<string, string>()
    let open: OpenFailure | undefined
    let isBlock = false
    let place: string | undefined
    let pointed: LogLine | undefined
    let current = ''
    const refusals = new Set<string>()

    const fail = (line: LogLine, title: string): void => {
      open = said.failure(line, title, undefined, title)
    }
    const explain = (line: LogLine): void => open?.detail(line, tellsTrouble(line.text) ? ranks.message : ranks.other)
    const point = (): void => {
      if (!open) return
      open.place ??= place
      if (pointed) open.detail(pointed, ranks.source)
    }
    const conclude = (line: LogLine, message: string): void => {
      if (said.failures > 0) said.total(line)
      else fail(line, message)
      point()
      open = undefined
    }
    const readOld = (line: LogLine): void => {
      const { text } = line
      const started = oldStep.exec(text)?.[1]
      if (started !== undefined) {
        current = `Step ${started}`
        recent.clear()
      } else if (oldFailed.test(text)) {
        fail(line, current === '' ? text : current)
        for (const before of recent.before(line)) explain(before)
        open = undefined
      } else recent.add(line)
    }

    return {
      line(line) {
        const { text } = line
        if (/^-{6,}$/.test(text)) {
          isBlock = false
          return
        }
        if (isBlock) return blockLine.test(text) ? explain(line) : undefined
        const begun = step.exec(text)
        const failed = stepFailed.exec(text)
        const shown = block.exec(text)?.[1]
        const at = inDockerfile.exec(text)?.[1]
        const message = verdict.exec(text)?.[1]
        const refusal = refused.exec(text)?.[1]
        if (begun) {
          if (steps.size < maxSteps) steps.set(begun[1] as string, begun[2] as string)
        } else if (failed) fail(line, steps.get(failed[1] as string) ?? (failed[2] as string))
        else if (shown !== undefined) {
          fail(line, shown)
          isBlock = true
        } else if (at !== undefined) place = at
        else if (pointedAt.test(text)) pointed ??= line
        else if (message !== undefined) conclude(line, message)
        else if (refusal !== undefined) {
          const kind = refusalKind(refusal)
          if (!refusals.has(kind) && refusals.size < maxSteps) said.failure(line, refusal)
          refusals.add(kind)
        } else if (stepWarned.test(text)) said.warning(line)
        else if (built.test(text)) said.total(line)
        else readOld(line)
      },
      end() {
        point()
        // Of refusals only the kinds are told apart, so they are not counted.
        return said.result({ failed: said.failures - refusals.size || undefined, warnings: said.warnings || undefined })
      },
    }
  },
}
