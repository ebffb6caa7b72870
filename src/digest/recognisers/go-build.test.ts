import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { goBuild } from './go-build.ts'

describe('the recogniser for go build and go vet', () => {
  it.each<[string, object, string[]]>([
    [
      'go-build-errors',
      { errors: 6 },
      [
        '2 imported and not used: "fmt" @ broken/a.go:4:2 | -',
        '3 imported and not used: "os" @ broken/a.go:5:2 | -',
        '4 cannot use square{} (value of type square) as type shape in variable declaration: @ broken/a.go:12:16 | square does not implement shape (missing Area method)',
        '6 invalid operation: "a" + 1 (mismatched types untyped string and untyped int) @ broken/a.go:13:7 | -',
        '7 undefined: undefined1 @ broken/a.go:14:2 | -',
        '8 cannot use s (variable of type shape) as type int in return statement @ broken/a.go:15:9 | -',
      ],
    ],
    [
      'go-build-modules',
      { errors: 3 },
      [
        '3 cannot find module providing package example.com/app/missing: module lookup disabled by GOPROXY=off @ dep/d.go:3:8 | -',
        '4 package fmtt is not in GOROOT (/usr/lib/go-1.19/src/fmtt) @ dep/d.go:4:8 | -',
        '5 cannot find module providing package github.com/nowhere/none: module lookup disabled by GOPROXY=off @ dep/d.go:2:8 | -',
      ],
    ],
    [
      'go-build-vet',
      { errors: 4 },
      [
        '2 cannot use (square literal) (value of type square) as shape value in variable declaration: square does not implement shape (missing method Area) @ broken/a.go:12:16 | -',
        '4 fmt.Printf format %d has arg "x" of wrong type string @ vet/v.go:6:2 | -',
        '5 struct field tag `json:a` not compatible with reflect.StructTag.Get: bad syntax for struct tag value @ vet/v.go:12:2 | -',
        '6 unreachable code @ vet/v.go:8:2 | -',
      ],
    ],
    [
      'go-test+go-build-failing',
      { errors: 7 },
      [
        '2 imported and not used: "fmt" @ broken/a.go:4:2 | -',
        '3 imported and not used: "os" @ broken/a.go:5:2 | -',
        '4 cannot use square{} (value of type square) as type shape in variable declaration: @ broken/a.go:12:16 | square does not implement shape (missing Area method)',
        '6 invalid operation: "a" + 1 (mismatched types untyped string and untyped int) @ broken/a.go:13:7 | -',
        '7 undefined: undefined1 @ broken/a.go:14:2 | -',
        '8 cannot use s (variable of type shape) as type int in return statement @ broken/a.go:15:9 | -',
        '11 fmt.Printf format %d has arg "x" of wrong type string @ vet/v.go:6:2 | -',
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(goBuild, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('has the lines that go on with a diagnosis', () => {
    const [, , third] = recogniseWith(goBuild, sample('go-build-errors'))?.failures ?? []
    expect(third?.details.map(({ text }) => text)).toEqual(['\tsquare does not implement shape (missing Area method)'])
  })

  it('reads what a runner marked as an error', () => {
    expect(failuresOf(recogniseWith(goBuild, '##[error]internal/a_test.go:88:9: undefined: os\n'))).toEqual(['1 undefined: os @ internal/a_test.go:88:9 | -'])
  })
})
