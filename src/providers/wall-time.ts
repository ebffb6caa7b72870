/** A time of day, perhaps with a date, as a provider tells it. */
export interface WallTime {
  readonly year?: number | undefined
  /** From 1. */
  readonly month?: number | undefined
  readonly day?: number | undefined
  readonly hour: number
  readonly minute: number
  readonly second?: number | undefined
}

const dayMs = 86_400_000
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

// What people write for the zones that providers write in; the rest is named as the time zone database does.
const zoneNames: Readonly<Record<string, string>> = {
  Z: 'UTC',
  UTC: 'UTC',
  GMT: 'UTC',
  PT: 'America/Los_Angeles',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MT: 'America/Denver',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  CT: 'America/Chicago',
  CDT: 'America/Chicago',
  ET: 'America/New_York',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  CET: 'Europe/Paris',
  CEST: 'Europe/Paris',
  JST: 'Asia/Tokyo',
}

/**
 * The moment of a time of day in a zone, in milliseconds since 1970. Without a date it is the next such time after `now`; without a
 * year the one that is nearest. Undefined in a zone that is not known: a guess
 * would be hours off; without a zone it is this machine's.
 */
export function toMoment(time: WallTime, zone: string | undefined, now: number): number | undefined {
  const known = findZone(zone)
  if (known === undefined) return undefined
  const today = partsAt(now, known)
  if (time.month === undefined || time.day === undefined) {
    const at = momentIn(known, { ...today, ...pick(time) })
    if (at > now) return at
    const tomorrow = partsAt(now + dayMs, known)
    return momentIn(known, { ...tomorrow, ...pick(time) })
  }
  const date = { month: time.month, day: time.day, ...pick(time) }
  if (time.year !== undefined) return momentIn(known, { year: time.year, ...date })
  const years = [today.year - 1, today.year, today.year + 1].map((year) => momentIn(known, { year, ...date }))
  return years.sort((a, b) => Math.abs(a - now) - Math.abs(b - now))[0]
}

/** The number of a month by its English name, full or short, or undefined. */
export function monthOf(name: string): number | undefined {
  const index = months.indexOf(name.slice(0, 3).toLowerCase())
  return index === -1 ? undefined : index + 1
}

const pick = ({ hour, minute, second = 0 }: WallTime) => ({ hour, minute, second })

interface Parts {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

function findZone(zone: string | undefined): string | undefined {
  const name = zone === undefined ? undefined : (zoneNames[zone.toUpperCase()] ?? zone)
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

function partsAt(moment: number, timeZone: string | undefined): Parts {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]))
  return parts as unknown as Parts
}

const asUtc = ({ year, month, day, hour, minute, second }: Parts): number => Date.UTC(year, month - 1, day, hour, minute, second)

/** The offset of a zone depends on the moment that is sought; the second guess is right unless the clocks are changed in that hour. */
function momentIn(zone: string | undefined, parts: Parts): number {
  const wanted = asUtc(parts)
  let moment = wanted
  for (let guess = 0; guess < 2; guess += 1) moment = wanted - (asUtc(partsAt(moment, zone)) - Math.floor(moment / 1_000) * 1_000)
  return moment
}
