import type { OpenFailure, Rank } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

// A source or header of the languages that these compilers read, a header without an ending, or text that has no file.
const file = String.raw`[^\s:"'()]{1,300}\.(?:[cC]|cc|cp|cpp|cxx|c\+\+|[hH]|hh|hpp|hxx|inl|inc|ipp|tpp|tcc|mm?|cuh?|[sS]|[fF]\d{0,2})|/[^\s:"'()]{1,300}/include/[^\s:"'()]{1,200}|<[\w -]{1,40}>`
const diagnosis = new RegExp(`^(${file}):(\\d{1,7}(?::\\d{1,7})?): (fatal error|[Ee]rror|[Ww]arning|note): (.*)$`)
const inheritance = /:\d{1,7}(?::\d{1,7})?: {3}(?:recursively )?required (?:from|by)\b/
const driver =
  /^(?:\S{0,200}\/)?(?:[\w.-]{0,40}-)?(?:ld(?:\.\w{1,8})?|gold|mold|lld|collect2|cc1(?:plus|obj)?|gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|clang-\d{1,3}|as|lto1|lto-wrapper|f951)(?:-\d{1,3})?: (?:(fatal error|error|warning): )?(.*)$/
const spoken =
  /^(?:\S{0,200}\/)?(?:[\w.-]{0,40}-)?(?:(?:ld(?:\.\w{1,8})?|mold|collect2|cc1(?:plus)?|(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?)(?:-\d{1,3})?): (?:fatal error|error|warning|all warnings being|cannot find|in function)|ld: \S{1,400} undefined reference to )/
// GNU ld says what it misses behind the object file or the source line that asks for it.
const missing = /(?:undefined reference to|multiple definition of|undefined symbol:|duplicate symbol:) ?['"`‘]?([^'’"`;]{1,400})/
const refusal =
  /^(?:cannot (?:find|open)|region ['"`‘].{1,100} overflowed by \d|.{0,300} (?:will not fit in region|overlaps section) |.{0,300}: (?:file not recognized|error adding symbols|undefined reference to|multiple definition of|undefined symbol:|relocation ))/
const closing = /^ld returned \d|^linker command failed|^(?:all|some) warnings being treated as errors|^symbol\(s\) not found/
const generated = /^(?:(\d{1,9}) warnings?)?(?: and )?(?:(\d{1,9}) errors?)? generated\.$/
const looseReference = /^[^\s:][^:]{0,300}:(?:[^\s:][^:]{0,300}:)?(?:\d{1,7}|\([^)\s]{1,200}\)): (?:undefined reference to|multiple definition of) /
// Apple's ld names the symbol in a line of its own.
const asked = /^ {2}"(.{1,400})", referenced from:$/
// Names the function in which the next diagnosis stands.
const scope = /^\S[^:]{0,300}: (?:In (?!instantiation|substitution|file)|At ).{1,400}:$/
const system = /^(?:\/usr\/|\/opt\/|\/Library\/|\/Applications\/|\/nix\/)/

/** gcc, clang and what takes their format (clang-tidy, cppcheck), with their linkers. */
export const gcc: Recogniser = {
  name: 'gcc',
  signs: new RegExp(`${diagnosis.source}|${looseReference.source}|${spoken.source}`),
  open() {
    const said = gathering('gcc', 'error')
    let errors = 0
    let warnings = 0
    let stated = 0
    let isClang = false
    let open: OpenFailure | undefined
    /** How telling the indented lines after a diagnosis or a note are; undefined where they say nothing. */
    let rank: Rank | undefined
    let callers: LogLine[] = []
    let within: LogLine | undefined

    const fail = (line: LogLine, message: string, place: string | undefined, key: string): void => {
      errors += 1
      open = said.failure(line, message, place, key)
      rank = ranks.source
    }
    const diagnose = (line: LogLine, at: string, kind: string, message: string): void => {
      if (kind === 'note') {
        const isCaller = /\brequested here$/.test(message)
        const isTelling = !isCaller && !system.test(at) && !/^(?:\s|candidate|each undeclared)/.test(message)
        if (isCaller) pointTo(line)
        else if (isTelling) open?.detail(line, ranks.comparison)
        rank = isTelling ? ranks.other : undefined
        return
      }
      if (/warning/i.test(kind)) {
        warnings += 1
        said.warning(line)
        open = undefined
      } else {
        fail(line, message, at, `${at} ${message}`)
        if (within) open?.detail(within, ranks.other)
        for (const caller of callers) pointTo(caller)
      }
      callers = []
      within = undefined
    }
    // A template fails in a header; who uses it wrongly stands in another line.
    const pointTo = (line: LogLine): void => {
      if (!open) return
      const place = placeIn(line.text)
      if (place === undefined || system.test(place)) return
      open.detail(line, ranks.place)
      if (open.place === undefined || system.test(open.place)) open.place = place
    }
    const link = (line: LogLine, message: string): boolean => {
      const symbol = missing.exec(message)?.[1]
      if (symbol === undefined && !refusal.test(message)) return false
      fail(line, symbol === undefined ? message : message.slice(message.search(missing)), placeIn(message), symbol ?? message)
      rank = ranks.place
      return true
    }
    const drive = (line: LogLine, kind: string | undefined, message: string): void => {
      if (closing.test(message)) {
        said.total(line)
        open = undefined
      } else if (link(line, message)) return
      else if (kind === 'warning') {
        warnings += 1
        said.warning(line)
      } else if (kind !== undefined) fail(line, message, undefined, message)
    }

    return {
      line(line) {
        const { text } = line
        if (text === '' || /^[\s|^~+]*$/.test(text)) return
        const found = diagnosis.exec(text)
        if (found) {
          if (/\[-W(?:error,)|\bclang\b/.test(text)) isClang = true
          return diagnose(line, `${found[1]}:${found[2]}`, found[3] as string, found[4] as string)
        }
        if (inheritance.test(text)) {
          callers = [...callers.slice(-5), line]
          return
        }
        const total = generated.exec(text)
        if (total) {
          isClang = true
          stated += Number(total[2] ?? 0)
          open = undefined
          return said.total(line)
        }
        const driven = driver.exec(text)
        if (driven) {
          if (/clang|lld/.test(text.slice(0, 60))) isClang = true
          return drive(line, driven[1], driven[2] as string)
        }
        if (looseReference.test(text) && link(line, text)) return
        const symbol = asked.exec(text)?.[1]
        if (symbol !== undefined) return fail(line, `${symbol}, referenced from:`, undefined, symbol)
        if (text.startsWith('>>> ')) return open && placeIn(text) !== undefined ? pointTo(line) : undefined
        if (scope.test(text)) within = line
        if (/^In file included from|^\s+from /.test(text)) rank = undefined
        else if (!/^\s/.test(text)) open = undefined
        else if (rank !== undefined) open?.detail(line, rank)
      },
      end() {
        const result = said.result({ errors: Math.max(errors, stated) || undefined, warnings: warnings || undefined })
        return result && isClang ? { ...result, tool: 'clang' } : result
      },
    }
  },
}
