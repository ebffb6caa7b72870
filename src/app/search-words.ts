import { edits } from '../core/closest.ts'
import { parseQuery, type Query, queryTokens } from '../core/query.ts'
import type { KnownWord } from '../core/store.ts'
import type { SearchInput, SearchSuggestion } from './api.ts'
import type { AppContext } from './context.ts'

/** How many words of the index are looked at for one word of a query. */
const maxWords = 200
const maxSimilar = 5_000

type Asked = Pick<SearchInput, 'query' | 'regex' | 'literal'>

const termsOf = ({ query, regex, literal }: Asked): readonly Query[] =>
  regex || literal ? [] : parseQuery(query).terms.map((term) => ({ text: '', terms: [term] }))

/** How much each word of a query says: the fewer runs have it, the more. Equal where there is but one. */
export async function weightsOf(context: AppContext, asked: Asked): Promise<readonly number[]> {
  const terms = termsOf(asked)
  if (terms.length < 2) return [1]
  const { runs } = await context.records.count()
  return Promise.all(terms.map(async (term) => Math.log(1 + (1 + runs) / (1 + (await runsWith(context, term))))))
}

/** In about how many runs a word is: of what it is made of, the rarest part counts. */
async function runsWith(context: AppContext, term: Query): Promise<number> {
  const counts = await Promise.all(
    queryTokens(term).map(async (token) => {
      const isBeginning = token.endsWith('*')
      const word = isBeginning ? token.slice(0, -1) : token
      const known = await context.records.words(word, isBeginning ? maxWords : 1)
      return known.reduce((sum, { word: other, runs }) => (isBeginning || other === word ? sum + runs : sum), 0)
    }),
  )
  return Math.min(...counts)
}

/** For words that the index does not know, words that it knows and that are spelled much like them. */
export async function suggest(context: AppContext, asked: Asked): Promise<SearchSuggestion[]> {
  const words = new Set(termsOf(asked).flatMap((term) => queryTokens(term).map((token) => token.replace(/\*$/, ''))))
  const suggestions: SearchSuggestion[] = []
  for (const word of words) {
    // Short words and numbers have neighbours that mean something else.
    if (!/^\p{L}[\p{L}_]{3,63}$/u.test(word) || (await context.records.words(word, 1)).length > 0) continue
    const instead = nearest(word, await similar(context, word))
    if (instead !== undefined) suggestions.push({ word, instead })
  }
  return suggestions
}

/** Words that begin as it does, or as it would if its first two letters changed places; the more exact first, since there may be many. */
async function similar(context: AppContext, word: string): Promise<KnownWord[]> {
  const [first = '', second = ''] = word
  const found: KnownWord[] = []
  for (const beginning of new Set([first + second, second + first, first, second])) found.push(...(await context.records.words(beginning, maxSimilar)))
  return found
}

interface Near extends KnownWord {
  readonly distance: number
  /** Whether it is the beginning of a longer word, which a search finds as well. */
  readonly isPart: boolean
}

function nearest(word: string, known: readonly KnownWord[]): string | undefined {
  const most = word.length < 6 ? 1 : 2
  let best: Near | undefined
  const consider = (near: Near): void => {
    if (near.distance <= most && (!best || isNearer(near, best))) best = near
  }
  for (const { word: other, runs } of known) {
    if (Math.abs(other.length - word.length) <= most) consider({ word: other, runs, distance: edits(word, other), isPart: false })
    // A part of a word with an underscore in it ends there; of others nothing is known of where parts end.
    for (const part of beginnings(other, word.length, most)) consider({ word: part, runs, distance: edits(word, part), isPart: true })
  }
  return best?.word
}

/** Slips count most, then whether it is a whole word, then in how many runs it is; of two parts the longer. */
function isNearer(a: Near, b: Near): boolean {
  if (a.distance !== b.distance) return a.distance < b.distance
  if (a.isPart !== b.isPart) return b.isPart
  if (a.isPart && a.word.length !== b.word.length) return a.word.length > b.word.length
  return a.runs > b.runs
}

/** Beginnings of a longer word that are about so long. */
function* beginnings(word: string, length: number, most: number): Generator<string> {
  for (let at = Math.max(minPart, length - most); at <= length + most && at < word.length; at += 1) {
    if (word[at] === '_' || (!word.includes('_') && at >= length)) yield word.slice(0, at)
  }
}

const minPart = 4
