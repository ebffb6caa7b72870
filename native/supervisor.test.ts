import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildSanitized, packedProgram, type SupervisorProgram } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'
import { declareCommandTests } from './supervisor-commands-suite.ts'
import { declareEndingTests } from './supervisor-endings-suite.ts'
import { declareLifeTests } from './supervisor-life-suite.ts'
import { declareOutputTests } from './supervisor-output-suite.ts'

const hasCompiler = hasProgram('cc', 'the supervisor')

describe.runIf(hasCompiler)('the supervisor', () => {
  declareCommandTests(packedProgram)
  declareEndingTests(packedProgram)
  declareOutputTests(packedProgram)
  declareLifeTests(packedProgram)
})

describe.runIf(hasCompiler)('the supervisor with sanitizers', () => {
  const world = openWorld()
  const log = world.path('sanitizer')
  const program: SupervisorProgram = {
    path: world.path('supervisor'),
    endsByItself: true,
    env: { ASAN_OPTIONS: `log_path=${log}:detect_stack_use_after_return=0`, UBSAN_OPTIONS: `log_path=${log}:print_stacktrace=1` },
  }

  beforeAll(() => buildSanitized(program.path), 120_000)
  afterAll(() => world[Symbol.asyncDispose]())

  declareCommandTests(program)
  declareEndingTests(program)
  declareOutputTests(program)
  declareLifeTests(program)

  it('found nothing wrong', () => {
    const found = readdirSync(world.folder).filter((name) => name.startsWith('sanitizer'))
    expect(found.map((name) => readFileSync(join(world.folder, name), 'utf8'))).toEqual([])
  })
})
