import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it as test } from 'vitest'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld, type World } from '../test/support/world.ts'

const it = test.runIf(process.platform === 'linux' && hasProgram('cc', 'the build of the supervisor'))
const name = `holdfast-supervisor-linux-${process.arch}`
const other = process.arch === 'arm64' ? 'x64' : 'arm64'

/** A checkout with a small program in place of the supervisor. */
interface Checkout extends World {
  readonly program: string
  build(args?: readonly string[], env?: Readonly<Record<string, string>>): SpawnSyncReturns<string>
  write(source: string): void
}

const source = (body: string): string => `#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n${body}\nreturn 0;\n}\n`
const telling = source('puts(HOLDFAST_BUILD);')

function openCheckout(): Checkout {
  const world = openWorld()
  for (const folder of ['scripts', 'native']) mkdirSync(world.path(folder))
  copyFileSync(new URL('../scripts/build-supervisor', import.meta.url), world.path('scripts/build-supervisor'))
  writeFileSync(world.path('native/part.h'), '/* none */\n')
  const checkout: Checkout = {
    ...world,
    program: world.path('dist/native', name),
    build: (args = [], env = {}) =>
      spawnSync('/bin/sh', [world.path('scripts/build-supervisor'), ...args], {
        cwd: world.root,
        env: { ...world.env, ...env },
        encoding: 'utf8',
        timeout: 30_000,
      }),
    write: (text) => writeFileSync(world.path('native/main.c'), text),
  }
  checkout.write(telling)
  return checkout
}

const findProgram = (tool: string): string => spawnSync('/bin/sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim()

/** A PATH with everything that the script uses besides compilers. */
function withoutCompilers(world: World): string {
  const folder = world.path('bin')
  mkdirSync(folder)
  for (const tool of ['dirname', 'uname', 'cat', 'sha256sum', 'mkdir', 'head', 'rm', 'mv', 'chmod']) symlinkSync(findProgram(tool), join(folder, tool))
  return folder
}

const leftovers = (checkout: Checkout): string[] => readdirSync(checkout.path('dist/native')).filter((file) => /draft|log-/.test(file))

it('the supervisor is built with the hash of its sources, described beside it, and linked statically', async () => {
  await using checkout = openCheckout()
  const { status, stdout, stderr } = checkout.build()
  const description = readFileSync(checkout.path('dist/native/supervisor.json'), 'utf8')
  const { build } = JSON.parse(description)
  expect([status, stdout, stderr]).toEqual([0, '', `supervisor: built dist/native/${name} (${build})\n`])
  expect(description).toBe(`{"build":"${build}","protocol":1}\n`)
  expect(build).toMatch(/^[0-9a-f]{8}$/)
  expect(spawnSync(checkout.program, { encoding: 'utf8' }).stdout).toBe(`${build}\n`)
  expect(statSync(checkout.program).mode & 0o777).toBe(0o755)
  expect(readFileSync(checkout.program).includes('/lib64/ld-linux')).toBe(false)
  expect(leftovers(checkout)).toEqual([])
})

it('nothing is built while the sources are the same, and a changed header counts', async () => {
  await using checkout = openCheckout()
  checkout.build()
  const before = statSync(checkout.program)
  expect(checkout.build()).toMatchObject({ status: 0, stderr: '' })
  expect(statSync(checkout.program).ino).toBe(before.ino)
  writeFileSync(checkout.path('native/part.h'), '/* some */\n')
  expect(checkout.build().stderr).toContain('supervisor: built')
  expect(statSync(checkout.program).ino).not.toBe(before.ino)
})

it('what lost its right to be executed, or its description, is built again', async () => {
  await using checkout = openCheckout()
  checkout.build()
  chmodSync(checkout.program, 0o644)
  expect(checkout.build().stderr).toContain('supervisor: built')
  rmSync(checkout.path('dist/native/supervisor.json'))
  expect(checkout.build().stderr).toContain('supervisor: built')
})

it('a supervisor that runs goes on while another one is built in its place', async () => {
  await using checkout = openCheckout()
  checkout.write(source('char line[8]; puts("first"); fflush(stdout); if (!fgets(line, sizeof line, stdin)) return 9; puts("still first");'))
  checkout.build()
  const running = spawn(checkout.program, { stdio: ['pipe', 'pipe', 'inherit'] })
  const over = once(running, 'close')
  let printed = ''
  const began = new Promise<void>((resolve) => {
    running.stdout.on('data', (piece) => {
      printed += piece
      resolve()
    })
  })
  await began
  checkout.write(telling)
  expect(checkout.build().status).toBe(0)
  running.stdin.end('go\n')
  expect(await over).toEqual([0, null])
  expect(printed).toBe('first\nstill first\n')
})

it('without a C compiler it says what is missing and what that means, and succeeds', async () => {
  await using checkout = openCheckout()
  const PATH = withoutCompilers(checkout)
  const { status, stderr } = checkout.build([], { PATH })
  expect([status, stderr]).toEqual([
    0,
    'supervisor: not built: there is no C compiler; commands are then started by Holdfast itself, and end with it. Install a C compiler (Debian: apt install gcc libc6-dev) and run scripts/build-supervisor\n',
  ])
  expect(existsSync(checkout.path('dist'))).toBe(false)
  expect(checkout.build(['--required'], { PATH }).status).toBe(1)
})

it('without the cross compiler another processor is left out, unless it is required', async () => {
  await using checkout = openCheckout()
  const PATH = withoutCompilers(checkout)
  symlinkSync(findProgram('cc'), join(PATH, 'cc'))
  const { status, stderr } = checkout.build(['--target', other], { PATH })
  expect(status).toBe(0)
  expect(stderr).toMatch(/^supervisor: not built: there is no \S+-linux-gnu-gcc \(Debian: apt install /)
  expect(checkout.build(['--target', other, '--required'], { PATH }).status).toBe(1)
})

it('sources that do not compile are a failure that shows what the compiler said, and the earlier program stays', async () => {
  await using checkout = openCheckout()
  checkout.build()
  const before = statSync(checkout.program)
  checkout.write('int main(void) { return undeclared; }\n')
  const { status, stderr } = checkout.build()
  expect(status).toBe(1)
  expect(stderr).toContain('undeclared')
  expect(stderr).toContain('failed; what it said stands above')
  expect(statSync(checkout.program).ino).toBe(before.ino)
  expect(leftovers(checkout)).toEqual([])
})

it('a call of something that is not declared is no warning', async () => {
  await using checkout = openCheckout()
  checkout.write('int main(void) { return nowhere_declared(); }\n')
  expect(checkout.build().status).toBe(1)
})

it('the program for another processor of other sources goes when one is built', async () => {
  await using checkout = openCheckout()
  checkout.build()
  const foreign = checkout.path('dist/native', `holdfast-supervisor-linux-${other}`)
  const stamp = checkout.path('dist/native', `.holdfast-supervisor-linux-${other}.build`)
  for (const file of [foreign, stamp]) writeFileSync(file, 'older000\n')
  checkout.write(source('puts("changed");'))
  checkout.build()
  expect([existsSync(foreign), existsSync(stamp), existsSync(checkout.program)]).toEqual([false, false, true])
})

it('--out writes one file and leaves dist alone; --sanitize makes a program that stops at a mistake', async () => {
  await using checkout = openCheckout()
  checkout.write(source('volatile int most = 2147483647; most += 1; printf("%d\\n", most);'))
  const out = checkout.path('out/program')
  expect(checkout.build(['--sanitize', '--out', out]).status).toBe(0)
  expect(existsSync(checkout.path('dist'))).toBe(false)
  const { status, stderr } = spawnSync(out, { encoding: 'utf8' })
  expect(status).not.toBe(0)
  expect(stderr).toContain('signed integer overflow')
})

it.each(['--target', '--target pdp11', '--what'])('%s is refused', async (args) => {
  await using checkout = openCheckout()
  const { status, stderr } = checkout.build(args.split(' '))
  expect(status).toBe(2)
  expect(stderr).toMatch(/^supervisor: .*\n$/)
})

it('the sources of this checkout compile without a warning', async () => {
  await using world = openWorld()
  const out = world.path('supervisor')
  const built = spawnSync('/bin/sh', [new URL('../scripts/build-supervisor', import.meta.url).pathname, '--out', out], { encoding: 'utf8', timeout: 60_000 })
  expect([built.status, built.stderr]).toEqual([0, ''])
  expect(spawnSync(out, ['--version'], { encoding: 'utf8' }).stdout).toMatch(/^holdfast-supervisor [0-9a-f]{8} protocol 1\n$/)
}, 60_000)
