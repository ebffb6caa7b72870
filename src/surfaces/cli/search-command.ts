import type { SearchResult } from '../../app/api.ts'
import { search } from '../../operations/search.ts'
import { commandFor, perform, shown } from './command.ts'
import { presentSearch } from './present-search.ts'
import { print } from './print.ts'

export const searchCommand = commandFor(search, 'search', 'Read what they printed', {
  async run(invocation) {
    const { query, regex, literal } = invocation.parsed.input
    const asked = { query: String(query), regex: regex === true, literal: literal === true }
    print(
      invocation,
      await perform(search, invocation, invocation.parsed.input),
      shown<SearchResult>((result, at) => presentSearch(result, at, asked)),
    )
    return 0
  },
})
