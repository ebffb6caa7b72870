/**
 * What a secret looks like in text. Every rule is linear: each repetition is bounded, or runs over characters that
 * the match then consumes, and no two repetitions over the same characters stand side by side.
 */

/** A part of a text, as offsets; `end` is the first offset after it. */
export interface Span {
  readonly start: number
  readonly end: number
}

// A token may follow a letter where that letter ends a colour sequence, an escape like \n, or a percent escape.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colour sequences begin with one
const edge = /(?:(?<![A-Za-z0-9])|(?<=\u001b\[[0-9;]{0,16}m)|(?<=\\[nrtf])|(?<=%[0-9A-Fa-f]{2}))/.source

const shapes = [
  /gh[pousr]_[A-Za-z0-9]{20,}/,
  /github_pat_[A-Za-z0-9_]{20,}/,
  /glpat-[A-Za-z0-9_-]{16,}/,
  /gl(?:rt|dt|ptt|oas|soat)-[A-Za-z0-9_-]{20,}/,
  /AIza[A-Za-z0-9_-]{30,}/,
  /GOCSPX-[A-Za-z0-9_-]{20,}/,
  /ya29\.[A-Za-z0-9_-]{20,}/,
  /xox[abeoprs]-[A-Za-z0-9-]{10,}/,
  /xapp-[A-Za-z0-9-]{20,}/,
  /npm_[A-Za-z0-9]{30,}/,
  /pypi-[A-Za-z0-9_-]{50,}/,
  /rubygems_[a-f0-9]{40,}/,
  /dckr_pat_[A-Za-z0-9_-]{20,}/,
  /[sr]k_(?:live|test)_[A-Za-z0-9]{10,}/,
  /whsec_[A-Za-z0-9+/=]{20,}/,
  /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  /shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}/,
  /dop_v1_[a-f0-9]{60,}/,
  /AGE-SECRET-KEY-1[0-9A-Z]{50,}/,
  /ATATT3[A-Za-z0-9_=-]{30,}/,
].map((shape) => shape.source)

// Their beginnings are short, so they count only where a word begins. That is asked after the beginning was found, since
// a search that has a fixed text to look for is many times faster.
const wordShapes = (
  [
    [/AKIA|ASIA|ABIA|ACCA/, /[A-Z0-9]{16}(?![A-Za-z0-9])/],
    // A digit is asked for: names of style classes like sk-circle-fade-dot have none.
    [/sk-/, /(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{20,}/],
    [/hf_/, /[A-Za-z0-9]{30,}/],
    [/gsk_/, /[A-Za-z0-9]{40,}/],
    [/xai-/, /[A-Za-z0-9]{40,}/],
    [/r8_/, /[A-Za-z0-9]{30,}/],
    [/e2b_/, /[a-f0-9]{32,}/],
    [/eyJ/, /[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/],
  ] as const
).map(([first, rest]) => `(?:${first.source})(?<=${edge}(?:${first.source}))${rest.source}`)

interface Rule {
  /** Global. Its first group, where it has one, is kept: only what follows the group is masked. */
  readonly pattern: RegExp
  readonly accepts?: (match: RegExpExecArray) => boolean
}

const hasDigit = (text: string): boolean => /\d/.test(text)

const rules: readonly Rule[] = [
  { pattern: new RegExp([...shapes, ...wordShapes].join('|'), 'g') },
  // scheme://user:password@host; a password may hold @ but no slash, so that http://localhost:8080/@id stays. JSON may escape slashes.
  { pattern: /(:(?:\/\/|\\\/\\\/)[^\s/:@"'<>]{0,256}:)[^\s/?#"'<>]{1,512}(?=@)/g },
  {
    pattern:
      /(authorization\\?["']?[ \t]{0,8}[:=][ \t]{0,8}\\?["']?(?:(bearer|basic|token|negotiate|apikey)[ \t]{1,8})?)(?!(?:bearer|basic|token|negotiate|apikey|digest)\b)[^\s"'\\,;]{6,}/gi,
    accepts: (match) => /^b/i.test(match[2] ?? '') || hasDigit(match[0].slice((match[1] as string).length)),
  },
  { pattern: /(\bbearer[ \t]{1,8})[A-Za-z0-9._~+/=-]{16,}/gi, accepts: (match) => hasDigit(match[0]) },
  { pattern: /(cookie\\?["']?[ \t]{0,8}:[ \t]{0,8}\\?["']?)[^\s"'=;]{1,128}=[^\r\n"']{6,}/gi },
  { pattern: /(\blogin[ \t]{1,8}\S{1,128}[ \t]{1,8}password[ \t]{1,8})\S{4,}/g },
  { pattern: /(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9_/-]{10,}/g },
  { pattern: /(discord(?:app)?\.com\/api\/webhooks\/\d{5,25}\/)[A-Za-z0-9_-]{20,}/g },
  { pattern: /([?&](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=)[A-Za-z0-9%+/=_-]{16,}/gi },
]

const keyForms = [
  /pass(?:word|wd|phrase|code)/,
  /secret/,
  /token/,
  /credentials?/,
  /(?:api|access|secret|private|encryption|signing|master|auth|session|account|storage|client|deploy|license)[_-]?keys?/,
  /pwd|pass|_auth/,
]
  .map((form) => form.source)
  .join('|')
const assignment = new RegExp(`(${keyForms})(?:_(?:base|base64|b64|value|\\d{1,3}))?(\\\\?["'])?([ \\t]{0,4})(?:=>|:=|==?|:)([ \\t]{0,4})`, 'gi')
const option = /--(?:[a-z]{1,20}-){0,3}(password|passwd|passphrase|token|secret|api-?key|access-key)([ \t]{1,4})(?=[^\s-])/gi

const plainValues = new Set(
  `true false null nil none undefined string number boolean object bigint symbol unknown never any str int bool bytes text required optional missing invalid
   expired expected unexpected empty unset default example placeholder changeme redacted masked hidden password secret token yes no on off`.split(/\s+/),
)

interface Assigned {
  /** The word that names the secret, as written. */
  readonly key: string
  readonly value: string
  readonly quoted: boolean
  /** Whether blanks stand between the sign and the value, as in YAML, code and prose. */
  readonly spaced: boolean
}

/** Whether an assigned value is taken for a secret: when in doubt about code and prose no, about settings yes. */
function isSecretValue({ key, value, quoted, spaced }: Assigned): boolean {
  if (value.length < 4 || plainValues.has(value.toLowerCase())) return false
  // References to a value: ${NAME}, $NAME, $(command), %NAME%, <name>, {{ name }}, stars.
  if (/^(?:\$\{|\$\(|\$\w+$|%\w*%?$|<|\{\{|\*+$|x+$|\.{3}|process\.env|import\.meta|os\.(?:environ|getenv))/i.test(value)) return false
  const isPassword = /^pass|^pwd/i.test(key)
  const digit = hasDigit(value)
  if (quoted) {
    if (/\s/.test(value)) return /phrase/i.test(key) || (isPassword && digit)
    return value.length >= 6 && (digit || isPassword || !/^token|^cred/i.test(key) || value.length >= 16)
  }
  // A call, an index, a type or a path through an object is code.
  if (/[(){}[\]|<>]/.test(value) || (!digit && /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value))) return false
  if (spaced)
    return value.length >= 6 && (digit || (isPassword && /[^A-Za-z0-9_.:/-]/.test(value))) && (isPassword || (value.length >= 8 && /[A-Za-z]/.test(value)))
  if (key === key.toUpperCase()) return value.length >= 6
  return isPassword || (value.length >= 6 && digit) || value.length >= 16
}

/** The value that begins at `from`: up to its closing quote, or to what ends a bare word; never past the line. */
function valueAt(text: string, from: number): { start: number; end: number; quoted: boolean; open: boolean } {
  const escaped = text[from] === '\\' && (text[from + 1] === '"' || text[from + 1] === "'")
  const quote = escaped ? text[from + 1] : text[from]
  const quoted = quote === '"' || quote === "'" || quote === '`'
  const start = quoted ? from + (escaped ? 2 : 1) : from
  let end = start
  for (; end < text.length; end += 1) {
    const char = text[end] as string
    if (char === '\n' || char === '\r' || char === '\u001b') break
    if (quoted && !escaped && char === '\\') end += 1
    else if (quoted && (char === quote || (escaped && char === '\\'))) break
    else if (!quoted && (/[\s"'`,;&]/.test(char) || (char === '\\' && /[nrt"']/.test(text[end + 1] ?? '')))) break
  }
  end = Math.min(end, text.length)
  return { start, end, quoted, open: end === text.length }
}

/**
 * Calls `found` with the value of each assignment to a name that sounds secret, whether it is taken for a secret, and
 * whether it runs to the end of the text. `nested`: also those inside a value; only for short texts.
 */
function eachAssignment(text: string, found: (span: Span, secret: boolean, open: boolean) => void, nested = false): void {
  for (const pattern of [assignment, option]) {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const from = pattern.lastIndex
      const before = text[match.index - 1] ?? ''
      // PWD alone is a folder; DB_PASS is none.
      if (/^(?:pwd|pass)$/i.test(match[1] as string) && before !== '_') continue
      if (/^_auth$/i.test(match[1] as string) && /\w/.test(before)) continue
      const value = valueAt(text, from)
      const spaced = pattern === option || ((match[3] as string) + (match[4] as string) !== '' && match[2] === undefined)
      const secret = isSecretValue({ key: match[1] as string, value: text.slice(value.start, value.end), quoted: value.quoted, spaced })
      found(value, secret, value.open)
      // What was looked at once is not looked at again from each assignment inside it; short values may hold one.
      if (!nested && (secret || value.end - from > 64)) pattern.lastIndex = Math.max(value.end, from)
    }
  }
}

const keyHeader = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
// Up to the next five dashes; real keys have less than 64 KiB.
const keyToEnd = /(?:[^-]|-(?!----)){0,65536}-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/y
// Body lines where the end is missing: long base64 words, and one short one that has a line to itself.
const keyLines =
  /(?:(?:\\r|\\n|[\s>|"'+,]){0,200}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\r\n]{0,200}|[A-Za-z0-9+/]{16,100}={0,2}(?=[\s\\"',]|$))){0,2000}(?:(?:\s{0,200}\n|\\n)[ \t>|"'+]{0,40}[A-Za-z0-9+/]{1,15}={0,2}(?=[ \t"']{0,20}(?:[\r\n\\]|$)))?/y
const keyFooter = /-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
const keyLine = /^[ \t>|"'+]*[A-Za-z0-9+/]{1,100}={0,2}["'+\\nr]{0,6}[ \t]*\r?$/

/** Private keys: whole blocks, a block whose end is missing, and the end of a block whose beginning is missing. */
function eachPrivateKey(text: string, found: (span: Span, whole: boolean) => void): void {
  keyHeader.lastIndex = 0
  for (let match = keyHeader.exec(text); match; match = keyHeader.exec(text)) {
    const from = keyHeader.lastIndex
    keyToEnd.lastIndex = from
    const whole = keyToEnd.test(text)
    keyLines.lastIndex = from
    const end = whole ? keyToEnd.lastIndex : keyLines.test(text) ? keyLines.lastIndex : from
    found({ start: match.index, end }, whole)
    keyHeader.lastIndex = end
  }
  keyFooter.lastIndex = 0
  let previousEnd = 0
  for (let match = keyFooter.exec(text); match; match = keyFooter.exec(text)) {
    const start = beginningOfKey(text, match.index, previousEnd)
    previousEnd = keyFooter.lastIndex
    if (start < match.index) found({ start, end: previousEnd }, true)
  }
}

/** Walks back over lines that can only be the body of a key. */
function beginningOfKey(text: string, footer: number, floor: number): number {
  let start = footer
  while (start > floor) {
    const lineEnd = start - 1
    if (text[lineEnd] !== '\n') break
    const lineStart = Math.max(text.lastIndexOf('\n', lineEnd - 1) + 1, floor)
    if (lineEnd - lineStart > 128 || !keyLine.test(text.slice(lineStart, lineEnd))) break
    start = lineStart
  }
  return start
}

/** Every part of `text` that has the form of a secret, in no order; parts may overlap. */
export function findShapes(text: string, found: (span: Span) => void): void {
  for (const { pattern, accepts } of rules) {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      if (accepts && !accepts(match)) continue
      found({ start: match.index + (match[1]?.length ?? 0), end: pattern.lastIndex })
    }
  }
  if (text.includes('PRIVATE KEY')) eachPrivateKey(text, found)
  eachAssignment(text, (span, secret) => {
    if (secret) found(span)
  })
}

const openName = /(?:authorization|bearer|password)\S{0,3}[ \t]{1,16}(?:\S{1,12}[ \t]{1,16})?$/i
const openCookie = /cookie\\?["']?[ \t]{0,8}:[^\r\n]*$/i
// Nobody waits for the end of what begins earlier.
const maxOpenLine = 8192
const openHeader = /-{1,5}[A-Z0-9 ]{0,60}-{0,5}$/

/**
 * The offset from which the end of `text` may be part of a secret whose rest is not there yet: a word that has not
 * ended, a quoted value that is not closed, a private key whose end has not come.
 */
export function openShape(text: string): number {
  const lineStart = Math.max(text.lastIndexOf('\n') + 1, text.lastIndexOf('\r') + 1, text.length - maxOpenLine)
  const line = text.slice(lineStart)
  let open = line.length
  let wordStart = line.length
  while (wordStart > 0 && !/\s/.test(line[wordStart - 1] as string)) wordStart -= 1
  // Dots and bars of progress are no beginning of a secret, except behind the name of one.
  if (!/^[.#*=|]*$/.test(line.slice(wordStart)) || openName.test(line.slice(Math.max(0, wordStart - 200), wordStart))) open = wordStart
  const cookie = openCookie.exec(line)
  if (cookie) open = Math.min(open, cookie.index)
  const header = openHeader.exec(line)
  if (header) open = Math.min(open, header.index)
  eachAssignment(
    line,
    (span, _secret, isOpen) => {
      if (isOpen) open = Math.min(open, span.start)
    },
    true,
  )
  return Math.min(lineStart + open, openPrivateKey(text))
}

function openPrivateKey(text: string): number {
  let open = text.length
  if (!text.includes('PRIVATE KEY')) return open
  eachPrivateKey(text, (span, whole) => {
    if (!whole) open = Math.min(open, span.start)
  })
  return open
}
