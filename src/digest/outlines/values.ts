import { formatCount, headBytes, oneLine } from '../../core/text.ts'
import { shownValue } from '../secret-fields.ts'

/** What the values of one field, column or list have in common; see `valuesOf`. */
export interface Values {
  add(value: unknown): void
  readonly count: number
  /** In a few words: `number 1 to 25`, `"open" 20, "closed" 5`, `list of 0 to 3 {name, color}`. */
  describe(): string
}

const maxDistinct = 12
const maxShownDistinct = 5
const maxTextBytes = 40
const maxKeys = 40

/** Takes secrets out of a text. What is decoded may show one that was masked in no line of the text, such as an escape of JSON hid it. */
export type MaskValue = (text: string) => string

/** Collects values one by one; bounded memory, whatever comes. */
export function valuesOf(mask: MaskValue, depth = 0): Values {
  let count = 0
  let nulls = 0
  const numbers = { count: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY }
  const texts = { count: 0, shortest: Number.POSITIVE_INFINITY, longest: 0, example: '' }
  const lists = { count: 0, shortest: Number.POSITIVE_INFINITY, longest: 0 }
  let objects = 0
  // By what is shown of them: how many, and the first one whole.
  const distinct = new Map<string, { times: number; readonly first: string | boolean }>()
  let many = false
  let items: Values | undefined
  let fields: Fields | undefined

  function see(name: string, first: string | boolean): void {
    const known = distinct.get(name)
    if (known !== undefined) known.times += 1
    else if (distinct.size < maxDistinct) distinct.set(name, { times: 1, first })
    else many = true
  }

  const shown = (value: string | boolean): string => (typeof value === 'boolean' ? String(value) : `"${brief(mask(value))}"`)

  function describeTexts(): string {
    if (!many && distinct.size <= maxShownDistinct && (distinct.size === 1 || count > 2 * distinct.size)) {
      return [...distinct.values()]
        .sort((a, b) => b.times - a.times)
        .map(({ first, times }) => ({ name: shown(first), times }))
        .map(({ name, times }) =>
          distinct.size === 1 && times === count && count > 1 ? `all ${name}` : times === 1 && count === 1 ? name : `${name} ${formatCount(times)}`,
        )
        .join(', ')
    }
    return texts.count === 0 ? '' : `text like ${shown(texts.example)}`
  }

  return {
    get count() {
      return count
    },
    add(value) {
      count += 1
      if (value === null || value === undefined || value === '') nulls += 1
      else if (typeof value === 'number') {
        numbers.count += 1
        if (value < numbers.min) numbers.min = value
        if (value > numbers.max) numbers.max = value
      } else if (typeof value === 'string') {
        texts.count += 1
        texts.shortest = Math.min(texts.shortest, value.length)
        texts.longest = Math.max(texts.longest, value.length)
        if (texts.example === '') texts.example = value
        see(brief(value), value)
      } else if (typeof value === 'boolean') see(String(value), value)
      else if (Array.isArray(value)) {
        lists.count += 1
        lists.shortest = Math.min(lists.shortest, value.length)
        lists.longest = Math.max(lists.longest, value.length)
        if (depth < 2) {
          items ??= valuesOf(mask, depth + 1)
          for (const item of value.slice(0, maxKeys)) items.add(item)
        }
      } else if (typeof value === 'object') {
        objects += 1
        if (depth < 2) {
          fields ??= fieldsOf(mask, depth + 1)
          fields.add(value as Record<string, unknown>)
        }
      }
    },
    describe() {
      const range = (from: number, to: number): string => (from === to ? formatNumber(from) : `${formatNumber(from)} to ${formatNumber(to)}`)
      const parts = [
        numbers.count > 0 ? (numbers.count === 1 && count === 1 ? formatNumber(numbers.min) : `number ${range(numbers.min, numbers.max)}`) : '',
        distinct.size > 0 ? describeTexts() : '',
        lists.count > 0 ? `list of ${range(lists.shortest, lists.longest)}${items && items.count > 0 ? ` (${items.describe()})` : ''}` : '',
        objects > 0 && fields ? `{${fields.names().join(', ')}}` : objects > 0 ? '{…}' : '',
        nulls > 0 ? (nulls === count ? 'empty' : `empty ${formatCount(nulls)}`) : '',
      ]
      return parts.filter((part) => part !== '').join('; ')
    },
  }
}

/** What objects of one kind have in common. */
export interface Fields {
  add(object: Readonly<Record<string, unknown>>): void
  readonly count: number
  names(): string[]
  /** One text a field, in the order in which fields came first: `state: "open" 20, "closed" 5 (in 25 of 30)`. */
  describe(): string[]
}

export function fieldsOf(mask: MaskValue, depth = 0): Fields {
  const byName = new Map<string, Values>()
  const shownName = (name: string): string => brief(mask(name))
  let count = 0
  let more = 0
  return {
    get count() {
      return count
    },
    add(object) {
      count += 1
      for (const [name, value] of Object.entries(object)) {
        let values = byName.get(name)
        if (!values) {
          if (byName.size >= maxKeys) {
            more += 1
            continue
          }
          values = valuesOf(mask, depth)
          byName.set(name, values)
        }
        values.add(shownValue(name, value))
      }
    },
    names: () => [...[...byName.keys()].slice(0, 12).map((name) => shownName(name)), ...(byName.size > 12 || more > 0 ? ['…'] : [])],
    describe: () =>
      [...byName].map(
        ([name, values]) =>
          `${shownName(name)}: ${values.describe()}${values.count < count ? ` (in ${formatCount(values.count)} of ${formatCount(count)})` : ''}`,
      ),
  }
}

function brief(value: string): string {
  const text = oneLine(value)
  return text.length <= maxTextBytes ? text : `${headBytes(text, maxTextBytes).trimEnd()}…`
}
const formatNumber = (n: number): string => (Number.isInteger(n) ? String(n) : String(Number(n.toPrecision(6))))
