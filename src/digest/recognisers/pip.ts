import type { OpenFailure } from './parts.ts'
import { gathering, isForeignPlace, placeIn, pythonPlace, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const refused =
  /^ {0,6}ERROR: (?:Could not (?:find a version that satisfies|install packages|build wheels|open requirements|detect)|No matching distribution|Cannot install |Failed (?:building|to build)|Package '|Ignored the following|Invalid requirement|Directory '|Exception:|pip's dependency resolver|[\w.-]{1,100} \S{1,40} (?:has requirement|requires)|.{0,200} is not a (?:supported wheel|valid)|ResolutionImpossible|Hash(?:es)? |Operation cancelled|Command errored)/
const result =
  /^(?:Successfully (?:installed|built|uninstalled) \S|Failed to build \S|ERROR: (?:ResolutionImpossible|Could not build wheels|No matching distribution))/
// A program that pip started for a package, and what it printed, which pip draws in a frame.
const subprocess = /^ {0,6}× (\S.* did not run successfully\.)$/
const begins = /^ {0,6}╰─> \[\d{1,9} lines? of output\]$/
const conflict = /^[\w.[\]-]{1,100} \S{1,60} (?:requires|has requirement) .{1,200}, but you have .{1,100}$/
const told = /\berror\b|Error\b|fatal|not found|No such|No module/
const exception = /^ {0,8}[A-Za-z_][\w.]{0,120}(?:Error|Exception)(?:: |$)/

/** pip: resolution, conflicts, builds of packages. */
export const pip: Recogniser = {
  name: 'pip',
  signs: new RegExp(
    `${refused.source}|${subprocess.source}|^Successfully installed \\S+-\\d|^Installing collected packages: \\S|^Requirement already satisfied: \\S|^Looking in (?:links|indexes): \\S|^${conflict.source.slice(1)}`,
  ),
  open: openPip,
}

function openPip(): Reader {
  const all = gathering('pip', 'error')
  let current: OpenFailure | undefined
  let inOutput = false
  let inConflicts = false
  let retried: LogLine | undefined

  function explainOutput(open: OpenFailure, line: LogLine): void {
    const { text } = line
    const python = pythonPlace(text)
    if (python !== undefined) {
      if (!isForeignPlace(python)) open.detail(line, ranks.place)
    } else if (/: (?:fatal )?error: /.test(text) && placeIn(text) !== undefined) {
      open.place ??= placeIn(text.trim())
      open.detail(line, ranks.message)
    } else if (exception.test(text)) open.detail(line, ranks.message)
    else if (told.test(text)) open.detail(line, ranks.comparison)
    else if (/^ {6,16}\d{0,6} {0,4}\|/.test(text)) open.detail(line, ranks.source)
  }

  function begin(line: LogLine, title: string): void {
    current = all.failure(line, title)
    // Why an index was not reached, before it had no version to offer.
    if (retried && /Could not find a version/.test(title)) current.detail(retried, ranks.message)
    inConflicts = false
  }

  return {
    line(line) {
      const { text } = line
      const program = subprocess.exec(text)
      if (inOutput && current && !/^\S/.test(text)) {
        inOutput = !/^ {0,12}\[end of output\]$/.test(text)
        return explainOutput(current, line)
      }
      inOutput = false
      if (program) begin(line, program[1] as string)
      else if (current && begins.test(text)) inOutput = true
      else if (result.test(text)) all.total(line)
      else if (refused.test(text)) begin(line, text.replace(/^ {0,6}ERROR: /, ''))
      else if (conflict.test(text)) {
        if (current && inConflicts) current.detail(line, ranks.message)
        else begin(line, text)
      } else if (/^WARNING: (?!Retrying|Running pip as|You are using|There was an error checking)/.test(text)) all.warning(line)
      else if (text.startsWith('WARNING: Retrying')) retried = line
      else if (current && /^(?:The conflict is caused by:|Hint: | {4}\S)/.test(text)) current.detail(line, ranks.comparison)
      else if (/^\S/.test(text)) current = undefined
      inConflicts ||= /^ERROR: pip's dependency resolver/.test(text)
    },
    end: () => all.result({ errors: all.failures || undefined, warnings: all.warnings || undefined }),
  }
}
