import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { cmake } from './cmake.ts'

describe('the recogniser for CMake', () => {
  it.each<[string, string, object, string[]]>([
    [
      'cmake-no-lists',
      'CMake 3.25',
      {
        errors: 1,
      },
      ['1 The source directory "/srv/app/cmake" does not appear to contain CMakeLists.txt. @ - | -'],
    ],
    [
      'cmake-package',
      'CMake 3.25',
      {
        errors: 1,
        warnings: 1,
      },
      [
        '20 Could NOT find Protobuf (missing: Protobuf_LIBRARIES Protobuf_INCLUDE_DIR) (Required is at least version "3.20") @ cmake/Checks.cmake:3 | Could NOT find Protobuf (missing: Protobuf_LIBRARIES Protobuf_INCLUDE_DIR)',
      ],
    ],
    ['cmake-passed', 'CMake 3.25', {}, []],
    [
      'cmake-targets',
      'CMake 3.25',
      {
        errors: 1,
        warnings: 2,
      },
      [
        '26 Cannot specify link libraries for target "nosuch" which is not built by this project. @ cmake/Checks.cmake:4 | Cannot specify link libraries for target "nosuch" which is not built by',
      ],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(cmake, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains an error by its message and by its callers in own files', () => {
    const recognised = recogniseWith(cmake, sample('cmake-package'))
    expect(recognised?.failures[0]?.details.map(({ text }) => text.trim())).toEqual([
      'Could NOT find Protobuf (missing: Protobuf_LIBRARIES Protobuf_INCLUDE_DIR)',
      '(Required is at least version "3.20")',
      'cmake/Checks.cmake:3 (find_package)',
      'cmake/Checks.cmake:5 (check_things)',
      'CMakeLists.txt:4 (include)',
    ])
    expect(recognised?.warnings.map(({ text }) => text.trim())).toEqual(['CMake Warning at cmake/Checks.cmake:2 (message):', 'The bundled parser is used'])
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['-- Configuring incomplete, errors occurred!'])
  })
})
