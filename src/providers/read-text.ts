/** Of a longer text its head and its tail are read: what matters of an error stands at one of its ends. */
export const maxTextLength = 24 * 1024
const tailLength = 8 * 1024

/** What a text tells besides its sentences. */
export interface TextFacts {
  /** Numbers in the position of an HTTP status, from 400 to 599, in their order. */
  readonly statuses: readonly number[]
  /** Words of the shape of a code, and values that stand under a name for codes. */
  readonly codes: readonly string[]
  /** `"name": value` wherever it stands: in JSON, cut off or not, in JSON inside of JSON, in what Python prints. */
  readonly fields: readonly Field[]
}

export interface Field {
  readonly name: string
  readonly value: string
}

/** The text on one line: bounded, without the tags of a page, escapes of nested JSON, frames and typographic quotes. */
export function plainText(text: string): string {
  const bounded = text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - tailLength)} … ${text.slice(-tailLength)}`
  return withoutPage(bounded)
    .replace(/\\{1,15}[nrt]/g, ' ')
    .replace(/\\{1,15}(["'/])/g, '$1')
    .replace(/[‘’ʼ]/g, "'")
    .replace(/[\s\u2500-\u257f]+/g, ' ')
    .trim()
}

/** Of an HTML page its title and first heading tell; the rest is advice for visitors. */
function withoutPage(text: string): string {
  const start = text.search(/<!doctype html|<html\b/i)
  if (start === -1) return text
  const page = text.slice(start)
  const title = /<title[^>]{0,200}>([^<]{0,300})/i.exec(page)?.[1] ?? ''
  const heading = /<h1[^>]{0,200}>([^<]{0,300})/i.exec(page)?.[1] ?? ''
  const end = page.toLowerCase().lastIndexOf('</html>')
  return `${text.slice(0, start)} ${title.trim()} | ${heading.trim()} ${end === -1 ? '' : page.slice(end + '</html>'.length)}`
}

const noun = String.raw`(?:tokens?|files?|messages?|requests?|errors?|warnings?|lines?|bytes?|items?|tests?|times?|ms|milliseconds?|s|secs?|seconds?|minutes?|hours?|days?|k?b|mb|[a-z]{2,20}s)\b`
const reasonPhrase =
  '(?:bad request|unauthorized|payment required|forbidden|not found|request timeout|conflict|payload too large|request entity too large|unprocessable|too many requests|internal server error|bad gateway|service unavailable|service temporarily unavailable|gateway time-?out)'

// Where a number is a status: said so, in front of its reason, at the beginning of the message, in the title of a page.
const statusPositions: readonly RegExp[] = [
  /\bstatus(?:[ _-]?code)?\b["']?(?: (?:of|is|was))?[ :=(]{0,3}([45]\d\d)\b(?![.,]?\d)/gi,
  /\bhttp(?:\/\d(?:\.\d)?)?(?: (?:error|status|code|response|request))?(?: code)?[ :]{0,2}\(?([45]\d\d)\b(?![.,]?\d)/gi,
  /\berror code["']?[ :=-]{1,3}([45]\d\d)\b(?![.,]?\d)/gi,
  /\bresponse (?:code )?([45]\d\d)\b(?![.,]?\d)/gi,
  /\[([45]\d\d)\]/g,
  new RegExp(
    String.raw`\b(?:\w{0,40}error|\w{0,40}exception|failed|failure|rejected|returned|received|got|responded|replied|errored)["']?(?: with)?[: ]{0,3}[([]?([45]\d\d)\b(?![.,]?\d)(?! ?${noun}(?<!status))`,
    'gi',
  ),
  new RegExp(String.raw`(?:^|[\s'"([])([45]\d\d)[:\s-]{1,3}${reasonPhrase}`, 'gi'),
  new RegExp(String.raw`^[^A-Za-z0-9]{0,6}(?:error:? )?([45]\d\d)(?=$|[:\s-]{1,3}(?!${noun}(?<!status))["'{<([A-Za-z])`, 'gi'),
  /\| ([45]\d\d): /g,
]

/** Reads a text that went through `plainText`. */
export function readText(text: string): TextFacts {
  const found: { readonly at: number; readonly status: number }[] = []
  for (const position of statusPositions) {
    for (const match of text.matchAll(position)) found.push({ at: match.index, status: Number(match[1]) })
  }
  const fields = fieldsIn(text)
  const codes = fields.filter(({ name, value }) => isCodeName(name) && isCode(value)).map(({ value }) => value)
  for (const { name, value } of fields) {
    const status = isStatusName(name) ? toStatus(value) : undefined
    if (status !== undefined) found.push({ at: text.indexOf(value), status })
  }
  for (const [word] of text.matchAll(/[A-Za-z][A-Za-z0-9_]{3,63}/g)) if (isCodeShaped(word)) codes.push(word)
  return { statuses: found.sort((a, b) => a.at - b.at).map(({ status }) => status), codes: [...new Set(codes)], fields }
}

function fieldsIn(text: string): Field[] {
  const fields: Field[] = []
  for (const match of text.matchAll(/["']([A-Za-z_@$][\w-]{1,40})["']\s?:\s?(?:["']([^"']{1,120})|(-?\d{1,16}(?:\.\d{1,9})?))/g)) {
    fields.push({ name: match[1] as string, value: match[2] ?? (match[3] as string) })
  }
  return fields
}

/** `rate_limit_error`, `RateLimitError`, `ETIMEDOUT`: what nobody writes as a plain word. */
function isCodeShaped(word: string): boolean {
  return /[A-Za-z0-9]_[A-Za-z0-9]/.test(word) || /[a-z][A-Z]/.test(word) || /[A-Z]{2,}[a-z]+[A-Z]?/.test(word) || /^[A-Z][A-Z0-9]{4,}$/.test(word)
}

/** Names under which senders put codes. */
export function isCodeName(name: string): boolean {
  return /^(?:code|type|status|reason|name|error|errno|kind|__type|err|(?:error|finish|status|native)[_-]?(?:code|type|reason|name|text|msg)?)$/i.test(name)
}

export function isStatusName(name: string): boolean {
  return /^(?:code|(?:raw|http|upstream|error)?[_-]?status(?:[_-]?code)?|http[_-]?code|error[_-]?code)$/i.test(name)
}

/** Whether a value may be a code: one word. */
export function isCode(value: string): boolean {
  return /^[\w.:/-]{2,80}$/.test(value)
}

export function toStatus(value: unknown): number | undefined {
  const status = typeof value === 'number' ? value : typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : Number.NaN
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}
