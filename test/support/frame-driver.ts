import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { repository } from '../guards/sources.ts'

/** native/tests/frame-driver.c with both sanitizers: lines in, as many lines out. */
export interface FrameDriver extends AsyncDisposable {
  /** Rejects with what the sanitizers say when it ends before it has answered. */
  ask(lines: readonly string[]): Promise<string[]>
}

/** Undefined where there is no C compiler, which is said. */
export function buildFrameDriver(): { open(): FrameDriver; remove(): void } | undefined {
  if (spawnSync('cc', ['--version'], { stdio: 'ignore' }).error) {
    console.warn('skipped: what compares frames.ts with native/frame.c: there is no cc here')
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-frames-'))
  const program = join(folder, 'frame-driver')
  const checks = ['-std=c11', '-D_GNU_SOURCE', '-g', '-O1', '-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
  execFileSync('cc', [...checks, '-Wl,--wrap=malloc', '-o', program, 'native/tests/frame-driver.c', 'native/frame.c'], { cwd: repository, timeout: 60_000 })
  return {
    open: () => openDriver(program),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function openDriver(program: string): FrameDriver {
  // A leak is a fault too, but where the process is traced (by valgrind, a debugger) leaks cannot be looked for.
  const child: ChildProcess = spawn(program, { stdio: ['pipe', 'pipe', 'pipe'], env: { ASAN_OPTIONS: 'abort_on_error=0:allocator_may_return_null=1' } })
  const ended = once(child, 'close')
  let said = ''
  const stdin = child.stdin as Writable
  stdin.on('error', () => {})
  const stderr = child.stderr as Readable
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const answers = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  return {
    async ask(lines) {
      stdin.write(`${lines.join('\n')}\n`)
      const got: string[] = []
      while (got.length < lines.length) {
        const { done, value } = await answers.next()
        if (done) throw new Error(`the driver ended at ${JSON.stringify(lines[got.length]?.slice(0, 2_000))}:\n${said}`)
        got.push(value as string)
      }
      return got
    },
    async [Symbol.asyncDispose]() {
      stdin.end()
      const [code] = (await ended) as [number | null]
      if (code !== 0) throw new Error(`the driver ended with ${code}:\n${said}`)
    },
  }
}
