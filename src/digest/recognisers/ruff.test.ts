import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { ruff } from './ruff.ts'

describe('the recogniser for ruff', () => {
  it.each<[string, object, string[]]>([
    [
      'ruff-colour',
      { errors: 5 },
      [
        '1 F401 [*] `os` imported but unused @ a.py:1:8 | |        ^^',
        '14 F401 [*] `sys` imported but unused @ a.py:2:8 | |        ^^^',
        '27 F841 Local variable `l` is assigned to but never used @ a.py:6:5 | |     ^',
        '38 F821 Undefined name `undefined_name` @ a.py:8:16 | |                ^^^^^^^^^^^^^^',
        '49 F541 [*] f-string without any placeholders @ a.py:9:11 | |           ^^^^^^^^^^',
      ],
    ],
    [
      'ruff-concise',
      { errors: 7 },
      [
        '1 F401 [*] `os` imported but unused @ a.py:1:8 | -',
        '2 F401 [*] `sys` imported but unused @ a.py:2:8 | -',
        '3 F841 Local variable `l` is assigned to but never used @ a.py:6:5 | -',
        '4 F821 Undefined name `undefined_name` @ a.py:8:16 | -',
        '5 F541 [*] f-string without any placeholders @ a.py:9:11 | -',
        '6 invalid-syntax: Expected a parameter or the end of the parameter list @ s.py:1:7 | -',
        '7 invalid-syntax: Expected `)`, found newline @ s.py:1:8 | -',
      ],
    ],
    [
      'ruff-flake8',
      { errors: 9 },
      [
        "1 F401 'os' imported but unused @ ./a.py:1:1 | -",
        "2 F401 'sys' imported but unused @ ./a.py:2:1 | -",
        "3 F841 local variable 'l' is assigned to but never used @ ./a.py:6:5 | -",
        "4 E741 ambiguous variable name 'l' @ ./a.py:6:5 | -",
        "5 E711 comparison to None should be 'if cond is None:' @ ./a.py:7:10 | -",
        "6 F821 undefined name 'undefined_name' @ ./a.py:8:16 | -",
        '7 F541 f-string is missing placeholders @ ./a.py:9:11 | -',
        "8 E713 test for membership should be 'not in' @ ./a.py:10:12 | -",
        '9 E999 SyntaxError: invalid syntax @ ./s.py:1:8 | -',
      ],
    ],
    ['ruff-format', { errors: 1 }, ['1 invalid-syntax: Expected a parameter or the end of the parameter list @ s.py:1:7 | |       ^']],
    [
      'ruff-full',
      { errors: 7 },
      [
        '1 F401 [*] `os` imported but unused @ a.py:1:8 | |        ^^',
        '14 F401 [*] `sys` imported but unused @ a.py:2:8 | |        ^^^',
        '27 F841 Local variable `l` is assigned to but never used @ a.py:6:5 | |     ^',
        '38 F821 Undefined name `undefined_name` @ a.py:8:16 | |                ^^^^^^^^^^^^^^',
        '49 F541 [*] f-string without any placeholders @ a.py:9:11 | |           ^^^^^^^^^^',
        '66 invalid-syntax: Expected a parameter or the end of the parameter list @ s.py:1:7 | |       ^',
        '74 invalid-syntax: Expected `)`, found newline @ s.py:1:8 | |        ^',
      ],
    ],
    [
      'ruff-grouped',
      { errors: 7 },
      [
        '2 F401 [*] `os` imported but unused @ a.py:1:8 | -',
        '3 F401 [*] `sys` imported but unused @ a.py:2:8 | -',
        '4 F841 Local variable `l` is assigned to but never used @ a.py:6:5 | -',
        '5 F821 Undefined name `undefined_name` @ a.py:8:16 | -',
        '6 F541 [*] f-string without any placeholders @ a.py:9:11 | -',
        '9 invalid-syntax: Expected a parameter or the end of the parameter list @ s.py:1:7 | -',
        '10 invalid-syntax: Expected `)`, found newline @ s.py:1:8 | -',
      ],
    ],
    ['ruff-passing', {}, []],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(ruff, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('has the marked source and the advice, and no line of the mended source', () => {
    const [unused] = recogniseWith(ruff, sample('ruff-full'))?.failures ?? []
    expect(unused?.details.map(({ text }) => text)).toEqual([
      '  |        ^^',
      'help: Remove unused import: `os`',
      ' --> a.py:1:8',
      '1 | import os',
      '2 | import sys',
    ])
  })

  it('reads what earlier versions print (as documented)', () => {
    const log =
      'a.py:1:8: F401 [*] `os` imported but unused\n  |\n1 | import os\n  |        ^^ F401\n  |\n  = help: Remove unused import: `os`\n\nFound 1 error.\n'
    expect(failuresOf(recogniseWith(ruff, log))).toEqual(['1 F401 [*] `os` imported but unused @ a.py:1:8 | |        ^^ F401'])
  })

  it('names files that are not formatted (as documented)', () => {
    expect(recogniseWith(ruff, 'Would reformat: a.py\n1 file would be reformatted\n')).toMatchObject({
      counts: { errors: 1 },
      failures: [{ title: 'Would reformat: a.py' }],
    })
  })

  it('calls flake8 by its name', () => {
    expect(recogniseWith(ruff, sample('ruff-flake8'))?.tool).toBe('flake8')
    expect(recogniseWith(ruff, sample('ruff-concise'))?.tool).toBe('ruff')
  })
})
