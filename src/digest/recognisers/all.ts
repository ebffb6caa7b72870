import { biome } from './biome.ts'
import { cargoTest } from './cargo-test.ts'
import { cmake } from './cmake.ts'
import { compose } from './compose.ts'
import { ctest } from './ctest.ts'
import { docker } from './docker.ts'
import { eslint } from './eslint.ts'
import { gcc } from './gcc.ts'
import { git } from './git.ts'
import { goBuild } from './go-build.ts'
import { goTest } from './go-test.ts'
import { gradle } from './gradle.ts'
import { gtest } from './gtest.ts'
import { javac } from './javac.ts'
import { jest } from './jest.ts'
import { junit } from './junit.ts'
import { make } from './make.ts'
import { maven } from './maven.ts'
import { mocha } from './mocha.ts'
import { mypy } from './mypy.ts'
import { ninja } from './ninja.ts'
import { nodeTest } from './node-test.ts'
import { npm } from './npm.ts'
import { pip } from './pip.ts'
import { pnpm } from './pnpm.ts'
import { pytest } from './pytest.ts'
import type { Recogniser } from './recogniser.ts'
import { ruff } from './ruff.ts'
import { rustc } from './rustc.ts'
import { sanitizer } from './sanitizer.ts'
import { tap } from './tap.ts'
import { terraform } from './terraform.ts'
import { tsc } from './tsc.ts'
import { unittest } from './unittest.ts'
import { vitest } from './vitest.ts'
import { yarn } from './yarn.ts'

/** Every recogniser; where two claim one failure, the earlier one has it. */
export const recognisers: readonly Recogniser[] = [
  vitest,
  jest,
  mocha,
  nodeTest,
  tap,
  tsc,
  eslint,
  biome,
  pytest,
  unittest,
  sanitizer,
  gcc,
  javac,
  junit,
  gtest,
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
  npm,
  pnpm,
  yarn,
  cargoTest,
  rustc,
  terraform,
  git,
  pip,
  mypy,
  ruff,
]
