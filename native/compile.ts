import { spawnSync } from 'node:child_process'

/** Compiles a program of native/tests/ with the parts of native/ that it tries; every warning is an error. */
export function compileTest(compiler: string, out: string, sources: readonly string[], flags: readonly string[]): void {
  const strict = ['-std=c11', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Wshadow', '-Wconversion', '-Werror', '-pthread']
  const { status, stderr, error } = spawnSync(compiler, [...strict, ...flags, '-o', out, ...sources], {
    cwd: new URL('.', import.meta.url),
    encoding: 'utf8',
    timeout: 60_000,
  })
  if (status !== 0) throw new Error(`${compiler} failed: ${error?.message ?? ''}${stderr}`)
}
