import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { mypy } from './mypy.ts'

describe('the recogniser for mypy', () => {
  it.each<[string, object, string[]]>([
    [
      'mypy-errors',
      { errors: 7 },
      [
        '1 Cannot find implementation or library stub for module named "nowhere"  [import-not-found] @ a.py:3 | a.py:3: note: See https://mypy.readthedocs.io/en/stable/running_mypy.html#missing-imports',
        '3 Library stubs not installed for "yaml"  [import-untyped] @ a.py:4 | a.py:4: note: Hint: "python3 -m pip install types-PyYAML"',
        '6 Incompatible return value type (got "int", expected "str")  [return-value] @ a.py:8 | -',
        '7 Argument 1 to "len" has incompatible type "str | None"; expected "Sized"  [arg-type] @ a.py:12 | -',
        '8 "A" has no attribute "missing"  [attr-defined] @ a.py:19 | -',
        '9 Too many arguments for "f"  [call-arg] @ a.py:20 | -',
        '10 Argument 1 to "f" has incompatible type "str"; expected "int"  [arg-type] @ a.py:20 | -',
      ],
    ],
    ['mypy-passing', {}, []],
    [
      'mypy-pretty',
      { errors: 7 },
      [
        '1 Cannot find implementation or library stub for module named @ a.py:3:1 | "nowhere"  [import]',
        '6 Library stubs not installed for "yaml"  [import] @ a.py:4:1 | import yaml',
        '11 Incompatible return value type (got "int", expected "str") @ a.py:8:12 | [return-value]',
        '15 Argument 1 to "len" has incompatible type "Optional[str]"; @ a.py:12:16 | expected "Sized"  [arg-type]',
        '19 "A" has no attribute "missing"  [attr-defined] @ a.py:19:1 | A().missing',
        '22 Too many arguments for "f"  [call-arg] @ a.py:20:1 | f("1", 2)',
        '25 Argument 1 to "f" has incompatible type "str"; expected "int" @ a.py:20:3 | [arg-type]',
      ],
    ],
    ['mypy-syntax', { errors: 1 }, ['1 invalid syntax  [syntax] @ s.py:1 | -']],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(mypy, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('gives notes to the error above them, where they are about its line', () => {
    const failures = recogniseWith(mypy, sample('mypy-errors'))?.failures ?? []
    expect(failures[1]?.details).toHaveLength(2)
    expect(failures[6]?.details).toEqual([])
    expect(recogniseWith(mypy, sample('mypy-errors'))?.totals.map(({ text }) => text)).toEqual(['Found 7 errors in 1 file (checked 1 source file)'])
  })

  it('has the source of an error', () => {
    const [, , third] = recogniseWith(mypy, sample('mypy-pretty'))?.failures ?? []
    expect(third?.details.map(({ text }) => text)).toEqual(['[return-value]', '        return x', '               ^'])
  })
})
