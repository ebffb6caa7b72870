import type { Mark } from './levels.ts'
import { codes, levelInFields, markOf } from './levels.ts'
import { troubleWordStarts, troubleWords } from './trouble-words.ts'
import { unwrap } from './wrapper.ts'

/**
 * How much a line says about why something failed. Judged by where a word stands, not by the word alone: "error" is also
 * part of file names, options, test titles and counts of nothing.
 */
export const severities = {
  /** Names a cause and its place: a compiler's diagnosis, an exception with its message, a refusal of the system. */
  cause: 5,
  /** A failed test or step, or a line marked as an error. */
  failure: 4,
  /** Words of trouble without a mark. */
  trouble: 3,
  /** What follows from earlier errors: totals, exit codes, "build failed". */
  summary: 2,
  warning: 1,
  none: 0,
} as const
export type Severity = (typeof severities)[keyof typeof severities]

// Everything below looks at lines of bounded length, and no pattern nests one repetition in another.
const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const suspicious = new RegExp([...troubleWords.map(literal), ...troubleWordStarts.map((start) => `(?<![\\w])${literal(start)}`)].join('|'), 'i')

// What may stand between the wrapper of a runner and the message.
const stamp = /^(?:\s*(?:\[\d[^\]]{0,40}\]|\d\d:\d\d(?=\s)|#\d{0,4}(?=\s)|[│|┃](?=\s)|[A-Za-z][\w./-]{0,40} {1,12}\|(?=\s)|[>](?=\s)))+\s*/

const unstamp = (line: string): string => unwrap(line).replace(stamp, '')

const level =
  /(?:^|[\s[|(<#\]{,])(?:level[=:]\s?"?|"(?:level|severity|levelname)":\s?")?(?:[A-Z]{2,8}_(?=(?:FATAL|ERROR|WARNING|INFO) ))?(FATAL|ERROR|ERR!?|SEVERE|CRITICAL|CRIT|EMERG|ALERT|PANIC|WARN(?:ING)?|INFO|NOTICE|DEBUG|TRACE|VERBOSE|fatal|emerg|alert|crit|error|err|warn(?:ing)?|info|debug)(?=[\])>|"/]|\s*:|\s-|\s)/

/** `sign`: what every match has, for a pattern that is slow to find none. */
const benign: readonly { readonly pattern: RegExp; readonly sign?: RegExp }[] = [
  { pattern: /\b(?:errors?|err|exception|failures?)["']?\s?[:=]\s?(?:none|null|nil|false|undefined|""|''|-)(?![\w.])/gi },
  // Counts of nothing.
  {
    pattern:
      /\b(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|failed|failing|warnings?|problems?|issues?|exceptions?|conflicts?|vulnerabilities)\b/gi,
  },
  { pattern: /\b(?:errors?|failures?|failed|failing|warnings?|problems?|exceptions?|fail|number of (?:errors|failures) in tests)["']?\s?[:=]\s?0\b/gi },
  // Options, variables and identifiers.
  { pattern: /(?:^|\s)--?[\w-]*(?:err|fail|warn|exit|timeout|abort|fatal|missing|expect)[\w-]*(?:=\S*)?/gi },
  { pattern: /\b\w*(?:error|fail|failure|exception|warning|timeout|assert)[A-Za-z]*\((?=[\w\s,.]*\))/g, sign: /\(/ },
  { pattern: /\b[a-z_]+_(?:errors?|fail(?:ed|ure)?|exceptions?|warnings?)\b|\b(?:errors?|fail|exception|warning)_[a-z_]+\b/g, sign: /_/ },
  {
    pattern: /\b[a-z]+[A-Z]\w*(?:Error|Fail|Exception|Timeout|Warn|Assert)\w*|\b[a-z]+(?:Error|Fail|Exception|Timeout|Warn|Assert)[A-Z]\w*/g,
    sign: /[a-z][A-Z]/,
  },
  { pattern: /\b(?:error|fail|warn|exception)[- ](?:prone|handl\w*|safe|fast|over|tolerant|free|messages? (?:are|is) )\b/gi },
  {
    pattern:
      /\b(?:expect(?:ed|s|ing)?|should|must|will|may|can|if|when|on|ignore[sd]?|ignoring|handles?|retry on|until) (?:an? |any |the |to )?(?:\w+ )?(?:errors?|fail(?:s|ed|ures?|ing)?|exceptions?|timeouts?|abort)\b/gi,
  },
]

const word =
  /err|fail|exception|panic|assert|warn|timeout|abort|fatal|broken|denied|invalid|crash|missing|critical|unknown|refused|corrupt|expected|rejected|killed/i
const fileName =
  /\.(?:[ch](?:pp|xx|c)?|[jt]sx?|[cm]js|py|rb|go|rs|java|class|kt|o|so|lo|a|rlib|md|html?|json|ya?ml|xml|toml|conf|txt|log|css|vue|proto|cs|php|swift|hs|sql|sarif|csv|jar|zip|t?gz|png|pom|pid|lock)["'`),;:]{0,3}$/
const hyphened = /^["'`([]{0,2}[\w.+]{1,60}(?:-[\w.+]{1,60}){1,8}["'`)\],;]{0,3}$/
const spoken = /^["'`([]{0,2}(?:error|fatal|fail\w*|\w*exception|warn\w*)[:!]/i

/** Without one of these nothing is such a name. */
const nameSign = /[-.\\/]/

/** True for the name of a file, package or address that has such a word in it; not where a line number follows. */
const isName = (token: string): boolean =>
  word.test(token) && !spoken.test(token) && (fileName.test(token) || hyphened.test(token) || (/[\\/]/.test(token) && !/[:([]\d/.test(token)))

const passing =
  /^\s*(?:✓|✔|√|ok \d|ok\s|PASS(?:ED)?\b|--- PASS|\[ {7}OK \]|\[\s*PASSED)|(?:\.\.\. ?ok|\bPASSED|\.\. OK)\s*$|^\s*Test (?:Case|Suite) .{1,300} (?:started|passed)\b/
// Names of tests and steps, by which a runner only says where it is.
const naming =
  /^\s*(?:Feature|Scenario(?: Outline)?|Background|Rule|Examples?): |^\s*(?:Given|When|Then|And|But) (?!.*(?:\bfailed\b|✗|✘|✖|# FAIL))|^(?:\d\d:\d\d )?\+\d{1,6}(?: ~\d{1,6})?(?: -\d{1,6})?: (?!.*\[E\]$)/
// Source text of scripts that runners print before they run it.
const scriptSource =
  /^\+{1,4} \S|^\s*(?:\$ |\S{1,200}\.\w{1,6}:\d{1,7}:\s{0,40})?(?:\*\s|\}\s|echo|printf|if|elif|fi|then|grep|egrep|trap|export|set [-+]|test -|\[\[? |case |function |return |exit \d|local |for |while |def |raise |throw |catch|try\b|\/\/|#!|assert |alias )(?:\s|\b|$)/

// What a configuration tries out: whether it fails is what it wants to know.
const probe = /\bconftest\.\w{1,4}\b|\bCMakeFiles\/(?:CMakeScratch|CMakeTmp)\b|\bcmTC_[\da-f]{4,6}\b/

/** True for a line about what was only tried out. */
export const isProbe = (line: string): boolean => probe.test(line)

const boilerplate =
  /^(?:Picked up (?:_JAVA|JAVA|JDK)_|Please refer to \S|See \S{1,300} for (?:the individual|more|details)|See dump files|\[Help \d|-> \[Help|To see the full stack trace|Re-run (?:Maven|with)|For more information|After correcting the problems|mvn <|A complete log of this run|Run with --|Get more help at|> Run with|note: run with|note: Some details|Use --|Try:?$|\* (?:Try|Get more help))|http:\/\/cwiki\.apache\.org/i

const summary: readonly RegExp[] = [
  /^(?:error: )?(?:build|cook|job|task|step|update|tests?|command|script|deploy(?:ment)?|release|pipeline|stage|target|run) (?:has )?failed[.!]?$/i,
  /\b(?:aborted|failed) (?:with|due to|because of) [1-9]\d{0,6} warnings?\b/i,
  /\bBUILD FAIL(?:URE|ED)\b|^FAILURE: Build failed|^Build FAILED|^FAILED \(|\bBuild failed\b/,
  /\b[1-9]\d{0,8} (?:tests? |specs? |suites? |examples? )?(?:failed|failing|failures?|errors?|errored|problems?)\b/i,
  /(?<!assertion )\b(?:failed|failures|errors)\s?[:=]\s?[1-9]/i,
  /^(?:g?make|ninja)(?:\[\d+\])?: \*\*\* .*(?:Error|Stop)/,
  /\bexit(?:ed)?(?: with)?(?: non-zero)? (?:code|status):? -?[1-9]|\bnon-zero (?:exit|code|status)|\bexited, (?:code|status)=\w+, status=[1-9]|marked build as failure|^ninja: build stopped/i,
  // What did not run because something else had failed, and where to look for that.
  /\bdependenc(?:y|ies)\b.{0,60}\b(?:finished with|failed|errored|has errors)|\bsee (?:the )?(?:logs?|output|errors?|messages?) (?:above|below)\b|\b(?:errors?|failures?) above\b|\bdue to (?:the )?(?:previous|prior|earlier) (?:errors?|failures?)|\bfollowing (?:\w{1,20} )?(?:commands?|steps?|tasks?|targets?) failed:?$|\bfinished with an? (?:error|failure)\b/i,
  /^(?:error: )?aborting due to|^(?:error: )?could not compile|^COMPILATION ERROR|There (?:are|were) (?:test failures|errors)|^ELIFECYCLE|\bunsuccessful\b|ERR! (?:code ELIFECYCLE|errno \d|Exit status)|collect2: error|linker command failed|^Finished: (?:FAILURE|UNSTABLE|ABORTED)|^BEGIN failed--compilation aborted|^Compilation failed in require|^subprocess exited/i,
]

const causes: readonly RegExp[] = [
  // file:12:3: error, file.ts(12,3): error TS1234, src/a.c:7: undefined reference
  /^\S[^:(]{0,300}[:(]\d{1,7}(?:[:,.]\d{1,7})?\)?:?(?: -)? (?:fatal |internal )?error\b/i,
  /^configure: error: /,
  /\bError: \S{1,200}[(:]\d{1,7}(?:[:,]\d{1,7})?\)?: /,
  /\b(?:error|ERROR)(?: |\[)?\s?\[?(?:TS|CS|[A-Z]{1,4})\d{2,5}\b/,
  /^(?:error|fatal error): (?!aborting|could not compile|process|command|script|test failed|failed to (?:push|run))/i,
  /\bundefined (?:reference|symbol)s?\b|multiple definition of|unresolved (?:external|import|reference|symbol)|cannot find symbol/i,
  /^(?:thread '[^']{0,200}' )?panicked at |^\s*panic: |^thread '.{0,200}' (?:\(\d+\) )?panicked|^fatal(?: error)?: |^runtime error: |^SIG(?:SEGV|ABRT|BUS|ILL)\b/i,
  // Exceptions by name, also behind "Caused by:", a package or a thread.
  /^(?:stderr: |E {2,8}|Caused by: |Exception in thread "[^"]{0,100}" |Uncaught (?:exception:? )?|Unhandled \w{1,20}:? ?|\w{0,20}\.?\[?ERROR\]? )?(?:[a-z_$][\w$]{0,60}[.:/]{1,2}){0,12}[A-Z][\w$]{0,80}(?:Error|Exception|Failure|Fault|Timeout)(?: \[\w{1,60}\])?(?:: \S|$)/,
  /No space left on device|\bOut of memory\b|\bOutOfMemoryError\b|Cannot allocate memory|Segmentation fault|\bSIG(?:SEGV|ABRT|BUS|ILL)\b|\bfatal error has been detected|\bcore dumped\b|\bBus error\b|Disk quota exceeded|Too many open files|\bBUG: |\bOops: |\bKernel panic\b|\bsoft lockup\b|general protection fault|Read-only file system/i,
  /^Killed(?: |$)|: Killed(?: |$)|\boom-kill|^[\w.]{0,200}\b(?:exceptions?|errors?)\.[A-Z]\w{1,80}: \S/,
  /: command not found|: not found$|No such file or directory|Permission denied|Cannot find (?:module|package)|No module named|Connection refused|handshake timeout|unbound variable|bad interpreter|Exec format error|Name or service not known|Temporary failure in name resolution|No rule to make target|Address already in use|EACCES|ENOENT|ECONNREFUSED|EADDRINUSE|ERESOLVE|ETIMEDOUT/,
]

const failures: readonly RegExp[] = [
  // What nobody handled ends a program: Lisp, Node, Dart, .NET.
  /^Unhandled [\w.:$-]{0,80} {0,2}(?:in |at |:|$)|\bCan't locate \S{1,200} in @INC\b|\boverflowed by \d|\bwill not fit in\b/,
  // A complaint that a program begins with its name, a place, or the word itself.
  /^(?!warn|note|info|debug|hint|trace)[a-z][\w+.-]{1,30}(?:\[\d{1,8}\])?: .{0,200}\b(?:errors?|fail(?:ed|ure)|cannot|can't|unable|could ?n[o']t|denied|invalid|not (?:found|permitted|allowed|supported)|no such|refused|unbound|unknown|unrecognized|illegal)\b/,
  /^(?:\.{0,2}\/)?[\w@./\\-]{1,200}\.\w{1,6}[:(]\d{1,7}(?:[:,]\d{1,7})?\)?:? (?!\w{0,40}warning|note|info|hint).{0,200}\b(?:undefined|undeclared|unresolved|cannot|invalid|unexpected|expected|not (?:used|found|declared|defined)|unused|missing|unknown|mismatch|fail(?:ed|ure)|denied|conflict)/i,
  /^(?:Failed|Unable|Could not|Couldn't|Cannot|Can't) (?:to )?\w|^Error (?:response|in|during|while|when|from|at|running|loading|parsing|executing|creating)\b|^error (?:during|running|loading|parsing|building)\b|^failed to (?:solve|build|compile|load|start|create)\b|^E: \S|^Aborted\b|^\*\* \(|^❌|\[FAIL(?:ED)?[\]:.]|^\s*Failed \S{1,200} \[|^Module (?:not found|build failed)/,
  /\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|CreateContainerConfigError|CreateContainerError)\b| at \S{1,200} line \d{1,7}\.$|\(\w{1,60}(?:Error|Exception)\)$|cannot find -l/,
  /^\S{1,200}:\d{1,7}:(?: |[\w.]{1,120}:)FAIL(?:ED)?\b|^Cancell?ing .{0,80}\bdue to (?:an? )?time-?out/i,
  /^\s*--- FAIL|^FAIL(?:ED)?\b|^\s*(?:[✗✘✖×⨯]|●(?! Console$))\s|^not ok\b|\bFAILED\s*$|\bFAILED\b.{0,20}$|<<< (?:FAILURE|ERROR)!|\*\*\* FAILED \*\*\*|\s\[E\]$|^Test Case .{1,300} failed \(|\.\.\. (?:failed|error) in \d|^\[ {2}FAILED {2}\]|^E {3,11}\S|^failures?:$|^\s*\d{1,4}\) \S/,
  /^Traceback \(most recent call last\)|\bassert(?:ion)?(?:Error)? ?`?[\w=! ]{0,30}`? ?fail(?:ed|ure)|\bAssertionError\b/i,
  /^(?:[\w./+-]{1,80}: ){0,3}(?:(?:[\w.-]{1,30} )?error|fatal|failure|err!)(?::|!|\s*$| in | while | occurred| at )/i,
]

// Where two texts that should be the same are not.
const difference = /^@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@|\bdiffers?\b(?! in )|^(?:Would |would )?reformat(?:ted)? \S|\bwould (?:be )?reformat/
const trouble =
  /\b(?:cannot|can't|could not|couldn't|unable to|failed|failure|refused|rejected|timed out|timeout (?:after|exceeded|expired|waiting|of)|denied|not found|does not exist|doesn't exist|unexpected|mismatch|invalid|missing|conflicts?|went wrong|exception|error|fatal|aborted|not ok|undefined|undeclared|unresolved|expected|does not look like|unbound|unrecognized|unknown|illegal|unsupported|violat\w+|corrupt\w*|(?<!\+)incompatible|unreachable|crash\w*|exceeded|too many|not (?:permitted|allowed|supported|used)|no matching|forbidden|unauthorized|evicted|back-?off|diverged|overflow(?:ed|s)?|will not fit|deadlock|must be|broken|killed|panic\w*|assert\w*|giving up|gave up|exhausted|(?:identified|found) with (?:\w+ )?vulnerabilities)\b/i
const warning = /^W: \S|\bwarn(?:ing)?s?\b|\bdeprecated?\b/i
// A place in a source file, which makes a marked line a diagnosis.
const place = /(?:[\w)\]]:\[?\d{1,7}(?:[,:]\d{1,7})?\]?|\(\d{1,7},\d{1,7}\))[:\s]/

// The word of a build or test tool on its own work, which no log of the program under test looks like.
const verdict =
  /<<< (?:FAILURE|ERROR)!|\*\*\* FAILED \*\*\*|\s\[E\]$|^Test Case .{1,300} failed \(|\.\.\. (?:failed|error) in \d|^\s*--- FAIL|^not ok\b|^\[?FAIL(?:ED)?\b|^\S{1,200}:\d{1,7}:(?: |[\w.]{1,120}:)FAIL(?:ED)?\b|\bFAILED\s*$|^Cancell?ing .{0,80}\bdue to (?:an? )?time-?out|^configure: error: |^##teamcity\[testFailed|^\s*(?:[✗✘✖×⨯]|●(?! Console$))\s|^\[ {2}FAILED {2}\]|^E {3,11}\S|^Failed to execute goal|^Execution failed for task|^A problem occurred|^What went wrong/

// What no program can go on after, unlike an exception that a log may mention in passing.
const conclusive =
  /No space left on device|\bOut of memory\b|\bOutOfMemoryError\b|Cannot allocate memory|Segmentation fault|\bcore dumped\b|^Killed(?: |$)|Disk quota exceeded|\bSIG(?:SEGV|ABRT|BUS|ILL)\b|\bfatal error has been detected|\bBUG: |\bOops: |\bKernel panic\b|^configure: error: /i

// What no program but a test says.
const asserted = /\b(?:AssertionFailedError|AssertionError|ComparisonFailure|MultipleFailuresError): /

/** True for a line that names what no program can go on after. */
export const isConclusive = (line: string): boolean => conclusive.test(line)

// What a line of fields says of how something ended, whatever its level.
const failedField =
  /(?<![\w.])"?(?:phase|status|state|result|outcome|conclusion|health)"?\s?[=:]\s?"?\w{0,20}(?:fail(?:ed|ure)?|error(?:ed)?|unhealthy|degraded|crashed|aborted|denied|rejected|timed_?out|killed)\b|(?<![\w.])"?(?:ok|success|succeeded|passed|healthy)"?\s?[=:]\s?"?false\b|(?<![\w.])"?exit_?(?:code|status)"?\s?[=:]\s?"?[1-9]/i

const marked = /^(?:error|fail(?:ed|ure)?|fatal|panic)(?:: | in |!)/i

export interface Judgement {
  readonly severity: Severity
  /** Higher deserves room earlier; refines severity. */
  readonly weight: number
  /** The line without what precedes its message. */
  readonly message: string
}

const nothing: Judgement = { severity: severities.none, weight: 0, message: '' }
const maxJudgedChars = 600

/** Judges one clean line. */
export function judge(line: string): Judgement {
  const read = readLine(line)
  if (!read) return nothing
  const { unstamped, mark, message } = read
  const severity = severityOf(unstamped, message, mark)
  const weight =
    severity * 10 +
    (mark === 'fatal' ? 10 : mark === 'error' ? 6 : 0) +
    (severity >= severities.failure && verdict.test(message) ? 12 : 0) +
    (severity === severities.cause && (conclusive.test(message) || asserted.test(message)) ? 8 : 0)
  return { severity, weight, message }
}

/** The message of a judgement, for a fraction of its time; empty where the line says nothing of trouble. */
export const messageOf = (line: string): string => readLine(line)?.message ?? ''

interface ReadLine {
  readonly unstamped: string
  readonly mark: Mark
  readonly message: string
}

/** What a line says and how it is marked, before that is judged. */
function readLine(line: string): ReadLine | undefined {
  const text = line.length > maxJudgedChars ? line.slice(0, maxJudgedChars) : line
  if (!suspicious.test(text)) return undefined
  const unstamped = unstamp(text)
  const found = level.exec(unstamped.slice(0, 90)) ?? (unstamped.length < text.length ? spokenLevel.exec(unstamped) : null)
  const code = coded.exec(unstamped)
  const field = unstamped.startsWith('{') ? levelInFields(unstamped) : undefined
  const grade = gradeOf(unstamped)
  const mark =
    grade ?? (code ? (codes[(code[1] ?? code[2]) as string] ?? 'none') : (field ?? (found && isMark(unstamped, found) ? markOf(found[1] as string) : 'none')))
  const plain = code
    ? unstamped.slice(code[0].length)
    : mark === 'none' || field || grade
      ? unstamped.trimStart()
      : unstamped.slice(found ? found.index + found[0].length : 0).replace(/^[\])>|"':\s-]{1,8}/, '')
  const message = saidIn(unstamped) ?? plain
  return message === '' || boilerplate.test(message) ? undefined : { unstamped, mark, message }
}

// Names of jobs, modules, streams and steps, and ornaments, which stand before what a tool run by them says.
const label =
  /^(?:(?:[\u2022\u2500-\u257f\u25a0-\u25cf\u2716-\u2718\u274c\u274e\u27a4\u279c\u26d4]\ufe0f?|\[[^\]]{1,60}\]|(?:STDOUT|STDERR|stdout|stderr)(?=[ :])|(?![\w.$]{0,60}(?:error|exception|fatal|panic|fail))[\w@#./+-]{1,60}(?:\[[^\]]{1,40}\])?(?: - "[^"]{1,60}")?(?::|(?= \|))|\d{1,3}>)\s{1,12}){1,6}/i

/** What the rest of a line says by itself, if it begins as a complaint does. */
function labelled(message: string): Severity {
  const names = label.exec(message)?.[0]
  if (names === undefined || benignName.test(names)) return severities.none
  const rest = message.slice(names.length)
  return complaint.test(rest) || causes.some((pattern) => pattern.test(rest)) ? severities.cause : severities.none
}

const benignName = /\b(?:warn|info|note|hint|debug|help)/i
const complaint = /^(?:Error|ERROR|error|FATAL|Fatal|fatal)(?:\[\w-]{1,20}\])?: \S|^(?:[\w$]{1,60}[.:]{1,2}){0,8}[A-Z]\w{0,60}(?:Error|Exception): \S/

// A level in lower case without a colon is one where the time stands before it.
// The level as a letter, which counts where it stands.
const coded = /^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s{1,12}\d{1,9} [\w./-]{1,80}:\d{1,7}\] |^([VDIWEF])[ /][\w.$-]{1,60}\s{0,12}(?:\(\s{0,6}\d{1,8}\))?: /
const spokenLevel = /^(error|err|fatal|panic|critical|warn(?:ing)?|info|debug)(?=\s)/

const jsonField = /"(?:msg|message|short_message|@mt?|event|err|error|reason|exception)"\s?:\s?"((?:[^"\\]|\\.){1,300})/g
const plainField = /(?:^|\s)(?:msg|message|err|error|reason)=(?:"((?:[^"\\]|\\.){1,300})|([^\s"]{1,300}))/g

/** What a line of fields says: two lines that differ in their other fields only are of one shape. */
function saidIn(text: string): string | undefined {
  const json = text.startsWith('{')
  if (!json && !/\b(?:level|lvl|msg)=/.test(text)) return undefined
  const said = [...text.matchAll(json ? jsonField : plainField)].map((found) => found[1] ?? found[2])
  return said.length > 0 ? said.join(': ') : undefined
}

// Of a row of a table the cell that grades it.
const cell =
  /(?:[│┃|\t]|\s{2})\s{0,40}(CRITICAL|SEVERE|FATAL|BLOCKER|ERROR|FAIL(?:ED)?|HIGH|MEDIUM|MODERATE|LOW|NEGLIGIBLE|UNKNOWN|INFO|WARN(?:ING)?|PASS(?:ED)?|OK)\s{0,40}(?:[│┃|\t]|\s{2}|$)/i
const columns = /[│┃|].{0,200}[│┃|].{0,200}[│┃|]/

/** How a row of a table is graded, where it is one. */
function gradeOf(text: string): Mark | undefined {
  const word = columns.test(text) ? cell.exec(text)?.[1]?.toUpperCase() : undefined
  if (word === undefined) return undefined
  if (/^(?:CRIT|SEV|FATAL|BLOCK)/.test(word)) return 'fatal'
  if (/^(?:ERR|FAIL|HIGH)/.test(word)) return 'error'
  return /^(?:MED|MOD|WARN)/.test(word) ? 'warning' : 'info'
}

// A level stands alone before the message: in brackets, in capitals, as a field, or followed by a colon at the beginning.
function isMark(text: string, found: RegExpExecArray): boolean {
  const word = found[1] as string
  const before = text.slice(0, found.index)
  const after = text.charAt(found.index + found[0].length)
  if (/level/.test(found[0]) || found[0] === spokenLevel.exec(text)?.[0]) return true
  if (/[\])>|]/.test(after)) return /[[(<|\s]$/.test(found[0].slice(0, -word.length) || ' ')
  if (word === word.toUpperCase()) return before.trim() === '' || /^[\s\w.[\]:,/()-]{0,60}$/.test(before)
  return false
}

/** What a line says that a runner prints for a server to read. */
function serviceMessage(text: string): Severity | undefined {
  const kind = /^##teamcity\[(\w{1,40})/.exec(text)?.[1]
  if (kind === undefined) return undefined
  if (kind === 'testFailed' || (kind === 'message' && / status='(?:ERROR|FAILURE)'/.test(text))) return severities.failure
  return kind === 'buildProblem' ? severities.summary : severities.none
}

// What sums up is short; a long line that only mentions a count or a status somewhere says something else.
const longChars = 180
const summedChars = 120

function severityOf(unstamped: string, message: string, mark: Mark): Severity {
  const service = serviceMessage(unstamped)
  if (service !== undefined) return service
  if (probe.test(unstamped) || passing.test(unstamped) || naming.test(unstamped) || scriptSource.test(unstamped)) return severities.none
  let rest = nameSign.test(message) && word.test(message) ? message.replace(/\S+/g, (token) => (isName(token) ? ' ' : token)) : message
  for (const { pattern, sign } of benign) if (!sign || sign.test(rest)) rest = rest.replace(pattern, ' ')
  const start = rest.length > longChars ? rest.slice(0, summedChars) : rest
  if (summary.some((pattern) => pattern.test(start))) return /<<< (?:FAILURE|ERROR)!/.test(rest) ? severities.failure : severities.summary
  // A wrapper may call whatever a tool prints information.
  if (mark === 'info') return verdict.test(message) || marked.test(message) || failedField.test(unstamped) ? severities.failure : severities.none
  if (mark === 'warning') return conclusive.test(rest) ? severities.cause : severities.warning
  if (causes.some((pattern) => pattern.test(rest))) return severities.cause
  if (mark === 'error' || mark === 'fatal') return place.test(`${message} `) ? severities.cause : severities.failure
  if (failures.some((pattern) => pattern.test(rest))) return severities.failure
  const inner = labelled(message)
  if (inner !== severities.none) return inner
  if (warning.test(rest)) return severities.warning
  return trouble.test(rest) || difference.test(rest) ? severities.trouble : severities.none
}

const continuation =
  /^goroutine \d|^\[signal |^created by |^[\w./*()$-]{1,200}\(.{0,300}\)$|^\s*(?:at\s|\.{3}|Caused by|Suppressed|File "|[|│┃>^~+*-]|-->|\d{1,6} [|│]|=+>|(?:stdout|stderr)(?=\s*(?::|$)|\s-)|(?:expected|actual|received|got|want|symbol|location|required|found|reason|left|right|note|help|diff|Error|error|message|cause|caused|in|from)\b|E {2})/i

// What stands in a rule, or before a blank line of what pytest explains.
const ruleSign = /^E(?=\s*$)|\[\d{1,7}\/\d{1,7}\](?=[^\w\s]*$)/

// A count of nothing, and what an assertion of Node says of itself.
const nothingCounted = /^\s*(?:[#ℹ] )?[a-zA-Z]{3,12}:? {1,8}0$|^\s*generatedMessage: (?:true|false),?$/

/** True for a line that only rules, that says where help is, or that something else went well. */
export function isFiller(line: string): boolean {
  const message = unstamp(line).replace(/^\s*\[?(?:ERROR|INFO|npm ERR!)\]?[\s:]*/, '')
  return !/[\p{L}\p{N}]/u.test(message.replace(ruleSign, '')) || boilerplate.test(message) || passing.test(line) || nothingCounted.test(message)
}

/** True for a line that goes on with what `headline` began: deeper, or of a form that begins nothing. */
export function continues(headline: string, line: string): boolean {
  const mark = lineMark.exec(line)?.[0] ?? ''
  const first = lineMark.exec(headline)?.[0] ?? ''
  if (mark !== '' && mark.trim() !== first.trim()) return false
  const rest = line.slice(mark.length)
  return indentOf(rest) > indentOf(headline.slice(first.length)) || continuation.test(rest) || (/^#(?!\d)/.test(headline) && rest.startsWith('#'))
}

// A level that a tool puts before each of its lines.
const lineMark = /^(?:\[(?:ERROR|INFO|WARN(?:ING)?|DEBUG)\]|npm (?:ERR!|error|warn|WARN)|##\[\w{1,12}\]|(?:ERROR|INFO|WARN|DEBUG)\b:?) ?/

/** True for a line that says what the lines after it are about. */
export const isHeading = (line: string): boolean => heading.test(line)

/** True for a line by which a tool begins a step or a test of its own. */
export const isTitle = (line: string): boolean => title.test(line)

const title = /^(?:=== (?:RUN|CONT|NAME) |TASK \[|> Task |Step \d{1,4}\/|#\d{1,4} \[)/

const heading = /^\s*(?:=== |=> |# \S|TASK \[|> \[|>>> |Running |\[ RUN|RUN |Step \d|\$ |\+ |In file included|In function|\S{1,120}: In )|:\s*$|\*{4}\s*$/

const indentOf = (line: string): number => line.length - line.trimStart().length

/** What a message is apart from times, numbers, hashes and quoted addresses. */
export function shapeOf(message: string): string {
  return message
    .slice(0, 240)
    .replace(/\b(?=[a-z]*\d)(?=\w*\d[a-z]*\d)\w{6,64}\b/gi, '#')
    .replace(/\b(?=[\da-f]*\d)[\da-f]{7,64}\b/gi, '#')
    .replace(/\d+/g, '#')
    .replace(/\s+/g, ' ')
}
