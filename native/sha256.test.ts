import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'
import { compileTest } from './compile.ts'

const lengths = [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 1_000, 4_095, 65_536, 1_000_003]
const canEmulate = hasProgram('aarch64-linux-gnu-gcc', 'SHA-256 on arm64') && hasProgram('qemu-aarch64', 'SHA-256 on arm64')

describe('SHA-256 in C', () => {
  it.for([
    ['here', 'cc', ['-O2'], [], hasProgram('cc', 'SHA-256 in C')],
    ['with sanitizers', 'cc', ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'], [], hasProgram('cc', 'SHA-256 in C')],
    ['on arm64, emulated', 'aarch64-linux-gnu-gcc', ['-O2', '-static'], ['qemu-aarch64'], canEmulate],
  ] as const)('says what others say, however the bytes are cut: %s', { timeout: 60_000 }, async ([, compiler, flags, runner, isPossible], { skip }) => {
    if (!isPossible) return skip()
    await using world = openWorld()
    const program = world.path('driver')
    compileTest(compiler, program, ['tests/sha256-driver.c'], flags)
    const [command = program, ...args] = [...runner, program]
    const { stdout, stderr } = spawnSync(command, args, { input: lengths.join('\n'), encoding: 'utf8', timeout: 50_000 })
    const lines = stdout.trim().split('\n')
    expect(
      lines.map((line) => line.split(' ')[0]),
      stderr,
    ).toEqual(
      lengths.map((length) =>
        createHash('sha256')
          .update(Uint8Array.from({ length }, (_, at) => at * 31 + Math.floor(at / 251)))
          .digest('hex'),
      ),
    )
    for (const line of lines) expect(line.split(' ')[2]).toBe(line.split(' ')[1])
  })
})
