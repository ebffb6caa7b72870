import { durationPattern, parseDurationMs } from './duration.ts'
import type { Evidence } from './evidence.ts'
import { maxRetryAfterMs } from './provider-error.ts'
import type { Field } from './read-text.ts'
import { monthOf, toMoment } from './wall-time.ts'

/** Longer than any quota lasts: such a number is no wait, or in a unit that is not its own. */
const absurdMs = 366 * 86_400_000

/** A wait in bounds, or undefined where it cannot be believed: negative, not a number, absurd. */
function believed(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0 || ms > absurdMs) return undefined
  return Math.min(Math.round(ms), maxRetryAfterMs)
}

/** The wait that an error states, in milliseconds from `now`: by its headers, by the fields of its body, by its words. */
export function findStatedDelayMs(evidence: Evidence, isRateLimit: boolean, now: number): number | undefined {
  return fromHeaders(evidence.headers, isRateLimit, now) ?? fromFields(evidence.fields, now) ?? fromText(evidence.text, now)
}

function fromHeaders(headers: ReadonlyMap<string, string>, isRateLimit: boolean, now: number): number | undefined {
  const direct = believed(toNumber(headers.get('retry-after-ms'))) ?? believed(retryAfter(headers.get('retry-after'), now))
  if (direct !== undefined || !isRateLimit) return direct
  // Every answer has these; they tell of the limit that was hit only where one was.
  const resets = [...headers].flatMap(([name, value]) => {
    if (!/^(?:x-ratelimit-reset|anthropic-ratelimit-[\w-]{1,40}-reset|ratelimit-reset)/.test(name)) return []
    const ms = believed(momentOrDuration(value, now))
    return ms === undefined ? [] : [{ ms, isUsedUp: toNumber(headers.get(name.replace('reset', 'remaining'))) === 0 }]
  })
  const usedUp = resets.filter((reset) => reset.isUsedUp)
  const counted = usedUp.length > 0 ? usedUp : resets
  return counted.length === 0 ? undefined : Math.max(...counted.map((reset) => reset.ms))
}

/** Seconds, or an HTTP date. */
function retryAfter(value: string | undefined, now: number): number | undefined {
  const seconds = toNumber(value)
  if (seconds !== undefined) return seconds * 1_000
  return value === undefined ? undefined : (parseDurationExactly(value) ?? untilDate(value, now))
}

const nameKey = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '')

// What a number without a unit means under each name.
const fieldUnits: Readonly<Record<string, number>> = {
  retrydelay: 1_000,
  retryafter: 1_000,
  retryafterseconds: 1_000,
  retryafterms: 1,
  retryaftermillis: 1,
  retryinseconds: 1_000,
  resetsinseconds: 1_000,
  resetinseconds: 1_000,
  resetafterseconds: 1_000,
  resetafter: 1_000,
  quotaresetdelay: 1_000,
  waitseconds: 1_000,
  waitms: 1,
}
const momentFields = ['resetsat', 'resetat', 'resettime', 'resettimestamp', 'quotaresettimestamp', 'ratelimitreset', 'xratelimitreset', 'retryat']

function fromFields(fields: readonly Field[], now: number): number | undefined {
  for (const { name, value } of fields) {
    const key = nameKey(name)
    const unit = Object.hasOwn(fieldUnits, key) ? fieldUnits[key] : undefined
    if (unit === undefined && !momentFields.includes(key)) continue
    const number = toNumber(value)
    const ms = believed(
      unit === undefined ? momentOrDuration(value, now) : number === undefined ? (parseDurationExactly(value) ?? untilDate(value, now)) : number * unit,
    )
    if (ms !== undefined) return ms
  }
  return undefined
}

/** `1s`, `6m0s`; a date; seconds or milliseconds since 1970; seconds from now. */
function momentOrDuration(value: string, now: number): number | undefined {
  const number = toNumber(value)
  if (number === undefined) return parseDurationExactly(value) ?? untilDate(value, now)
  if (number >= 1e11) return number - now
  return number >= 1e8 ? number * 1_000 - now : number * 1_000
}

const cue = String.raw`\b(?:try(?: your request)?(?: again)?|retry(?:[- ]?after)?|wait(?:ing)?|resets?|be reset|available|resumes?|back off|renews?|refreshe?s?|expires|reset time)\b`
const filler = String.raw`(?:["':=~≈]|\s|\b(?:again|your|this|the|request|limit|message|it|sending|in|after|for|about|approximately|around|another|at least|up to|until|on|at|by|will|be|quota)\b){0,12}`
const statedDuration = new RegExp(`${cue}${filler}(${durationPattern})`, 'i')
const statedSeconds = new RegExp(String.raw`\bretry[- ]?after${filler}(\d{1,9}(?:\.\d{1,6})?)(?![\d:%/-]|\.\d| ?[a-z])`, 'i')
const chinese = new RegExp(String.raw`(${durationPattern})\s?(?:后|之后)(?:再|重)?试`)

const month = String.raw`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?`
const clock = String.raw`(?:(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?::(?<second>\d\d))?\s?(?<half>[ap])\.?m\b\.?|(?<hour24>\d{1,2}):(?<minute24>\d\d)(?::(?<second24>\d\d))?)`
const zone = String.raw`(?:\s?\(?(?<zone>[A-Z][A-Za-z_]{1,30}/[A-Za-z_/+-]{2,40}|UTC|GMT|Z\b|[PMCE][SD]?T\b|CES?T\b|JST\b)\)?)?`
const date = String.raw`(?:(?<month>${month}) (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?(?:,| at|, at)? )`
const isoDate = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?`
const statedTime = new RegExp(`${cue}${filler}${date}?${clock}${zone}`, 'i')
const statedIso = new RegExp(`${cue}${filler}(${isoDate})`, 'i')
const statedEpoch = new RegExp(String.raw`(?:${cue}${filler}|\blimit reached ?\| ?)(\d{13}|\d{10})\b`, 'i')

function fromText(text: string, now: number): number | undefined {
  const duration = statedDuration.exec(text)?.[1] ?? chinese.exec(text)?.[1]
  if (duration !== undefined) return believed(parseDurationMs(duration))
  const iso = statedIso.exec(text)?.[1]
  if (iso !== undefined) return believed(untilDate(iso, now))
  const epoch = statedEpoch.exec(text)?.[1]
  if (epoch !== undefined) return believed(momentOrDuration(epoch, now))
  const seconds = statedSeconds.exec(text)?.[1]
  if (seconds !== undefined) return believed(Number(seconds) * 1_000)
  const moment = momentOf(statedTime.exec(text)?.groups, now)
  return moment === undefined ? undefined : believed(moment - now)
}

function momentOf(told: Readonly<Record<string, string | undefined>> | undefined, now: number): number | undefined {
  if (told === undefined) return undefined
  const isHalfDay = told.half !== undefined
  const spoken = Number(told.hour ?? told.hour24)
  const hour = isHalfDay ? (spoken % 12) + (told.half?.toLowerCase() === 'p' ? 12 : 0) : spoken
  const minute = Number(told.minute ?? told.minute24 ?? 0)
  if ((isHalfDay && (spoken < 1 || spoken > 12)) || hour > 23 || minute > 59) return undefined
  const onDay =
    told.month === undefined ? {} : { month: monthOf(told.month), day: Number(told.day), ...(told.year === undefined ? {} : { year: Number(told.year) }) }
  return toMoment({ hour, minute, second: Number(told.second ?? told.second24 ?? 0), ...onDay }, told.zone, now)
}

function toNumber(value: string | undefined): number | undefined {
  return value !== undefined && /^\s?-?\d{1,16}(?:\.\d{1,12})?\s?$/.test(value) ? Number(value) : undefined
}

const wholeDuration = new RegExp(`^\\s?${durationPattern}\\s?$`, 'i')
const parseDurationExactly = (value: string): number | undefined => (wholeDuration.test(value) ? parseDurationMs(value) : undefined)

/** Dates with a year only; one without a zone is in UTC, as APIs write them. */
function untilDate(value: string, now: number): number | undefined {
  if (!/\d{4}/.test(value)) return undefined
  const hasZone = /(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\s?$/i.test(value)
  const at = Date.parse(hasZone ? value : `${value.replace(' ', 'T')}Z`)
  return Number.isNaN(at) ? undefined : at - now
}
