import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

// With -V ctest puts the number of its test before every line.
const ofCtest = /^\d{1,7}: /
const run = /^\[ RUN {6}\] (\S+)/
const failed = /^\[ {2}FAILED {2}\] ([^\s,]*[./][^\s,]*)/
const other = /^\[ {7}OK \] |^\[ {2}SKIPPED \] \S+\.|^\[-{10}\]/
const sum = /^\[ {2}(PASSED|FAILED|SKIPPED) {1,2}\] (\d{1,9}) tests?[.,]/
const total = /^\[={10}\] (\d{1,9}) tests? from \d{1,9} test (?:suites?|cases?) ran\./
const explained = /: (?:Failure|error:.*)$|^unknown file: /
const compared = /^\s|^Expected equality of these values:$/
const crash = /^(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Killed|terminate called)|core dumped/
const maxExplaining = 40

/** GoogleTest. */
export const gtest: Recogniser = {
  name: 'gtest',
  signs:
    /^(?:\d{1,7}: )?(?:\[ RUN {6}\] \S|\[ {7}OK \] \S|\[ {2}FAILED {2}\] (?:\S*[./]\S|\d{1,9} tests?,)|\[={10}\] \d{1,9} tests? from \d{1,9} test (?:suites?|cases?) ran\.)/,
  open() {
    const said = gathering('gtest', 'test')
    const sums = new Map<string, number>()
    // What a test prints on its failures comes before its outcome.
    let explaining: LogLine[] = []
    let running: { readonly line: LogLine; readonly name: string } | undefined

    const count = (name: string, value: string | undefined): void => {
      sums.set(name, (sums.get(name) ?? 0) + Number(value))
    }
    const fail = (line: LogLine, name: string): void => {
      const open = said.failure(line, name, undefined, name)
      for (const detail of explaining) {
        const text = detail.text.replace(ofCtest, '')
        const isPlace = explained.test(text)
        if (isPlace) open.place ??= placeIn(text)
        open.detail(detail, isPlace ? ranks.place : compared.test(text) ? ranks.comparison : ranks.message)
      }
      explaining = []
      running = undefined
    }

    return {
      line(line) {
        const text = line.text.replace(ofCtest, '')
        const begun = run.exec(text)?.[1]
        const name = failed.exec(text)?.[1]
        const summed = sum.exec(text)
        const all = total.exec(text)?.[1]
        if (name !== undefined) return fail(line, name)
        if (summed) count(summed[1] as string, summed[2])
        if (all !== undefined) count('total', all)
        if (all !== undefined || (summed && summed[1] !== 'SKIPPED')) said.total(line)
        if (begun !== undefined || summed || all !== undefined || other.test(text)) {
          explaining = []
          running = begun === undefined ? undefined : { line, name: begun }
        } else if (running && crash.test(text)) {
          explaining.push(line)
          fail(running.line, running.name)
        } else if ((explaining.length > 0 || explained.test(text)) && explaining.length < maxExplaining && text !== '') explaining.push(line)
      },
      end: () =>
        said.result({
          failed: sums.get('FAILED') ?? (said.failures || undefined),
          passed: sums.get('PASSED'),
          skipped: sums.get('SKIPPED'),
          total: sums.get('total'),
        }),
    }
  },
}
