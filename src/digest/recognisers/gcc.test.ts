import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { gcc } from './gcc.ts'

describe('the recogniser for gcc and clang', () => {
  it.each<[string, string, object, string[]]>([
    [
      'gcc-clang-errors',
      'clang 14.0',
      {
        errors: 4,
        warnings: 6,
      },
      [
        "1 too many arguments to function call, expected single argument 's', have 2 arguments @ src/main.c:8:29 | src/store.h:3:5: note: 'store_size' declared here",
        "7 use of undeclared identifier 'sise'; did you mean 'size'? @ src/main.c:9:24 | src/main.c:8:7: note: 'size' declared here",
        "17 no member named 'count' in 'struct store' @ src/main.c:11:12 | return s.count",
        "20 expected ';' after return statement @ src/main.c:11:17 | return s.count",
      ],
    ],
    [
      'gcc-clang-lld',
      'clang 14.0',
      {
        errors: 2,
      },
      [
        '1 undefined symbol: flush_store @ link.c:3 | >>> referenced by link.c:3 (/srv/app/src/link.c:3)',
        '5 undefined symbol: store_size @ link.c:3 | >>> referenced by link.c:3 (/srv/app/src/link.c:3)',
      ],
    ],
    [
      'gcc-clang-template',
      'clang 14.0',
      {
        errors: 1,
      },
      [
        "3 invalid operands to binary expression ('std::_List_iterator<Job>' and 'std::_List_iterator<Job>') @ src/sort.cpp:6:8 | src/sort.cpp:6:8: note: in instantiation of function template specialization 'std::sort<std::_List_iterator<Job>>' requested here",
      ],
    ],
    [
      'gcc-clang-undefined',
      'clang 14.0',
      {
        errors: 2,
      },
      ["2 undefined reference to `flush_store' @ - | -", "3 undefined reference to `store_size' @ - | -"],
    ],
    [
      'gcc-clang-werror',
      'clang 14.0',
      {
        errors: 1,
      },
      ["1 unused variable 'n' [-Werror,-Wunused-variable] @ src/ok.c:2:44 | -"],
    ],
    [
      'gcc-colour',
      'gcc 12.2',
      {
        errors: 4,
        warnings: 4,
      },
      [
        '2 too many arguments to function ‘store_size’ @ src/main.c:8:14 | src/store.h:3:5: note: declared here',
        '9 ‘sise’ undeclared (first use in this function); did you mean ‘size’? @ src/main.c:9:24 | 9 |   printf("%d items\\n", sise);',
        '17 ‘struct store’ has no member named ‘count’ @ src/main.c:11:11 | 11 |   return s.count',
        '20 expected ‘;’ before ‘}’ token @ src/main.c:11:17 | 11 |   return s.count',
      ],
    ],
    [
      'gcc-errors',
      'gcc 12.2',
      {
        errors: 4,
        warnings: 9,
      },
      [
        '2 too many arguments to function ‘store_size’ @ src/main.c:8:14 | src/store.h:3:5: note: declared here',
        '9 ‘sise’ undeclared (first use in this function); did you mean ‘size’? @ src/main.c:9:24 | 9 |   printf("%d items\\n", sise);',
        '17 ‘struct store’ has no member named ‘count’ @ src/main.c:11:11 | 11 |   return s.count',
        '20 expected ‘;’ before ‘}’ token @ src/main.c:11:17 | 11 |   return s.count',
      ],
    ],
    [
      'gcc-missing-header',
      'gcc 12.2',
      {
        errors: 1,
      },
      ['1 absent.h: No such file or directory @ src/inc.c:1:10 | 1 | #include "absent.h"'],
    ],
    [
      'gcc-missing-source',
      'gcc 12.2',
      {
        errors: 1,
      },
      ['1 src/nothere.c: No such file or directory @ - | -'],
    ],
    [
      'gcc-multiple-definition',
      'gcc 12.2',
      {
        errors: 2,
      },
      [
        "2 multiple definition of `store_size'; /tmp/cc4QSkyn.o:store.c:(.text+0x0): first defined here @ - | -",
        '3 cannot find -lnosuchlib: No such file or directory @ - | -',
      ],
    ],
    [
      'gcc-no-carets',
      'gcc 12.2',
      {
        errors: 4,
        warnings: 9,
      },
      [
        '2 too many arguments to function ‘store_size’ @ src/main.c:8:14 | src/store.h:3:5: note: declared here',
        '5 ‘sise’ undeclared (first use in this function); did you mean ‘size’? @ src/main.c:9:24 | -',
        '8 ‘struct store’ has no member named ‘count’ @ src/main.c:11:11 | -',
        '9 expected ‘;’ before ‘}’ token @ src/main.c:11:17 | -',
      ],
    ],
    [
      'gcc-template',
      'gcc 12.2',
      {
        errors: 1,
      },
      [
        '6 no match for ‘operator-’ (operand types are ‘std::_List_iterator<Job>’ and ‘std::_List_iterator<Job>’) @ src/sort.cpp:6:12 | src/sort.cpp:6:12:   required from here',
      ],
    ],
    [
      'gcc-undefined',
      'gcc 12.2',
      {
        errors: 2,
      },
      ["2 undefined reference to `flush_store' @ - | -", "3 undefined reference to `store_size' @ - | -"],
    ],
    [
      'gcc-warnings',
      'gcc 12.2',
      {
        warnings: 1,
      },
      [],
    ],
    [
      'gcc-werror',
      'gcc 12.2',
      {
        errors: 1,
      },
      ['2 unused variable ‘n’ [-Werror=unused-variable] @ src/ok.c:2:44 | 2 | int main(void) { struct store s = {0}; int n; return s.length; }'],
    ],
    [
      'make+gcc-cmake',
      'GNU make 4.3',
      {
        errors: 1,
      },
      ['3 ‘lenght’ undeclared (first use in this function) @ /srv/app/store.c:1:34 | 1 | int f(void) { int unused; return lenght; }'],
    ],
    [
      'make+gcc-parallel',
      'GNU make 4.3',
      {
        errors: 1,
        warnings: 1,
      },
      ['8 ‘lenght’ undeclared (first use in this function) @ store.c:1:22 | 1 | int f(void) { return lenght; }'],
    ],
    [
      'make+gcc-recursive',
      'GNU make 4.3',
      {
        errors: 1,
        warnings: 1,
      },
      ['5 ‘lenght’ undeclared (first use in this function) @ store.c:1:22 | 1 | int f(void) { return lenght; }'],
    ],
    [
      'ninja+gcc-failed',
      'Ninja 1.11',
      {
        errors: 1,
      },
      ['6 ‘lenght’ undeclared (first use in this function) @ /srv/app/store.c:1:34 | 1 | int f(void) { int unused; return lenght; }'],
    ],
    [
      'ninja+gcc-verbose',
      'Ninja 1.11',
      {
        errors: 1,
      },
      ['6 ‘lenght’ undeclared (first use in this function) @ /srv/app/store.c:1:34 | 1 | int f(void) { int unused; return lenght; }'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(gcc, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains an error by its notes and the source, and a template by who uses it', () => {
    const details = (name: string, index: number) => recogniseWith(gcc, sample(name))?.failures[index]?.details.map(({ text }) => text.trim())
    expect(details('gcc-errors', 0)).toEqual([
      'src/store.h:3:5: note: declared here',
      '8 |   int size = store_size(&s, 3);',
      'src/main.c: In function ‘main’:',
      '3 | int store_size(struct store *s);',
    ])
    expect(details('gcc-template', 0)).toEqual([
      'src/sort.cpp:6:12:   required from here',
      '1938 |                                 std::__lg(__last - __first) * 2,',
    ])
    expect(details('gcc-clang-template', 0)?.[0]).toMatch(/^src\/sort\.cpp:6:8: note: in instantiation of .* requested here$/)
    expect(details('gcc-clang-lld', 1)).toEqual(['>>> referenced by link.c:3 (/srv/app/src/link.c:3)'])
  })

  it('tells clang from gcc by what it closes with', () => {
    const closing = (name: string) => {
      const recognised = recogniseWith(gcc, sample(name))
      return [recognised?.tool, recognised?.totals.map(({ text }) => text)]
    }
    expect(closing('gcc-clang-errors')).toEqual(['clang', ['1 warning and 4 errors generated.', '5 warnings generated.']])
    expect(closing('gcc-undefined')).toEqual(['gcc', ['collect2: error: ld returned 1 exit status']])
  })

  it('knows the symbols that the linker of Apple misses', () => {
    const log =
      'Undefined symbols for architecture arm64:\n  "_flush_store", referenced from:\n      _main in link.o\nld: symbol(s) not found for architecture arm64\nclang: error: linker command failed with exit code 1 (use -v to see invocation)\n'
    const recognised = recogniseWith(gcc, log)
    expect(failuresOf(recognised)).toEqual(['2 _flush_store, referenced from: @ - | _main in link.o'])
    expect(recognised?.totals).toHaveLength(2)
  })

  it('keeps the warnings of a build that passed, and does not count errors that nobody stated', () => {
    const recognised = recogniseWith(gcc, sample('gcc-warnings'))
    expect(recognised?.counts).toEqual({ warnings: 1 })
    expect(recognised?.warnings.map(({ text }) => text)).toEqual(['src/ok.c:2:44: warning: unused variable ‘n’ [-Wunused-variable]'])
  })

  it.each([
    [
      'symbols of a source with debug information',
      "/usr/bin/ld: src/link.c:3: undefined reference to `flush_store'",
      "undefined reference to `flush_store' @ src/link.c:3",
    ],
    ['assembler', "src/start.s:12: Error: no such instruction: `movz %eax'", "no such instruction: `movz %eax' @ src/start.s:12"],
    [
      'a header without an ending',
      '/usr/include/c++/12/vector:99:4: error: static assertion failed',
      'static assertion failed @ /usr/include/c++/12/vector:99:4',
    ],
    ['a cross compiler', "arm-none-eabi-gcc: error: unrecognized argument in option '-mcpu=x'", "unrecognized argument in option '-mcpu=x' @ -"],
    ['a compiler that was killed', 'c++: fatal error: Killed signal terminated program cc1plus', 'Killed signal terminated program cc1plus @ -'],
    ['a program under its full path', '/usr/bin/ld: cannot find -lstore: No such file or directory', 'cannot find -lstore: No such file or directory @ -'],
  ])('knows %s', (_what, line, failure) => {
    expect(failuresOf(recogniseWith(gcc, `${line}\n`))).toEqual([`1 ${failure} | -`])
  })

  it.each([
    'src/app.py:3:1: error: Name "x" is not defined',
    './main.go:8:2: undefined: x',
    'src/Cart.java:12: error: cannot find symbol',
    'src/ubsan.c:3:54: runtime error: signed integer overflow',
    'a page says that main.c:3:4: error: is how it looks',
  ])('leaves alone: %s', (line) => {
    expect(recogniseWith(gcc, `${line}\n`)).toBeUndefined()
  })
})
