import { cmake } from './cmake.ts'
import { compose } from './compose.ts'
import { ctest } from './ctest.ts'
import { docker } from './docker.ts'
import { gcc } from './gcc.ts'
import { goBuild } from './go-build.ts'
import { goTest } from './go-test.ts'
import { gradle } from './gradle.ts'
import { javac } from './javac.ts'
import { junit } from './junit.ts'
import { make } from './make.ts'
import { maven } from './maven.ts'
import { ninja } from './ninja.ts'
import { pytest } from './pytest.ts'
import type { Recogniser } from './recogniser.ts'
import { sanitizer } from './sanitizer.ts'
import { unittest } from './unittest.ts'

/** Every recogniser; where two claim one failure, the earlier one has it. */
export const recognisers: readonly Recogniser[] = [
  pytest,
  unittest,
  sanitizer,
  gcc,
  javac,
  junit,
  ctest,
  maven,
  gradle,
  cmake,
  ninja,
  make,
  docker,
  compose,
  goTest,
  goBuild,
]
