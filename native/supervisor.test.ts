import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildVariant, mostBuildMs, openSupervisor, packedProgram, type SupervisorProgram, until } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'
import { declareCommandTests } from './supervisor-commands-suite.ts'
import { declareEndingTests } from './supervisor-endings-suite.ts'
import { declareFarTests } from './supervisor-far-suite.ts'
import { declareFileKillTests, declareFileSwapTests } from './supervisor-files-killed-suite.ts'
import { declareFileTests } from './supervisor-files-suite.ts'
import { declareLifeTests } from './supervisor-life-suite.ts'
import { declareOutputTests } from './supervisor-output-suite.ts'

const hasCompiler = hasProgram('cc', 'the supervisor')

describe.runIf(hasCompiler)('the supervisor', () => {
  declareCommandTests(packedProgram)
  declareEndingTests(packedProgram)
  declareOutputTests(packedProgram)
  declareLifeTests(packedProgram)
  declareFarTests(packedProgram)
  declareFileTests(packedProgram)
})

describe.runIf(hasCompiler)('the supervisor with sanitizers', () => {
  const world = openWorld()
  const log = world.path('sanitizer')
  const program: SupervisorProgram = {
    path: world.path('supervisor'),
    endsByItself: true,
    env: { ASAN_OPTIONS: `log_path=${log}:detect_stack_use_after_return=0`, UBSAN_OPTIONS: `log_path=${log}:print_stacktrace=1` },
  }

  beforeAll(() => buildVariant('sanitize', program.path), mostBuildMs)
  afterAll(() => world[Symbol.asyncDispose]())

  declareCommandTests(program)
  declareEndingTests(program)
  declareOutputTests(program)
  declareLifeTests(program)
  declareFarTests(program)
  declareFileTests(program)

  it('found nothing wrong', () => {
    const found = readdirSync(world.folder).filter((name) => name.startsWith('sanitizer'))
    expect(found.map((name) => readFileSync(join(world.folder, name), 'utf8'))).toEqual([])
  })
})

describe.runIf(hasCompiler)('the supervisor that is held up, or killed, at a step', () => {
  const world = openWorld()
  const path = world.path('supervisor')

  beforeAll(() => buildVariant('faults', path), mostBuildMs)
  afterAll(() => world[Symbol.asyncDispose]())

  declareFileKillTests(path)
  declareFileSwapTests(path)

  it('makes nothing anew for somebody who left before it was removed, and ends', async () => {
    const fault = world.path('fault')
    await using supervisor = await openSupervisor({ path, env: { HOLDFAST_FAULT_FILE: fault } })
    const pid = await supervisor.innerPid()
    const controller = await supervisor.connect()
    writeFileSync(fault, 'place-looked-after 1 19\n')
    await until('it is stopped as it looks', () => existsSync(`${fault}.hit`) && /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'latin1')))
    controller.close()
    await controller.closed
    rmSync(`${supervisor.socket}.lock`)
    process.kill(pid, 'SIGCONT')
    expect(await supervisor.over).toBe(0)
    expect([supervisor.socket, `${supervisor.socket}.lock`].filter(existsSync)).toEqual([])
  })
})
