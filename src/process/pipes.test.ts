import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, readdirSync, readSync, rmSync, statSync, symlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openWorld, type World } from '../../test/support/world.ts'

type Pipes = typeof import('./pipes.ts')

let world: World
let folder: string
let pipes: Pipes
const usual = process.env.TMPDIR

beforeEach(async () => {
  world = openWorld()
  process.env.TMPDIR = world.tmp
  folder = join(world.tmp, `holdfast-${process.getuid?.()}`)
  // What is known of the folder is kept for the life of a process: each test begins a new one.
  vi.resetModules()
  pipes = await import('./pipes.ts')
})

afterEach(async () => {
  vi.restoreAllMocks()
  if (usual === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = usual
  await world[Symbol.asyncDispose]()
})

/** Sends a text through a pipe and gives back what came out of it. */
async function sendThrough(pipe: Awaited<ReturnType<Pipes['openOutputPipe']>>, text: string): Promise<string> {
  if (!pipe) return 'no pipe'
  let got = ''
  pipe.ours.on('data', (bytes: Buffer) => {
    got += bytes.toString()
  })
  const over = once(pipe.ours, 'close')
  writeSync(pipe.theirs, text)
  closeSync(pipe.theirs)
  await over
  return got
}

const names = (beginning: string): string[] => readdirSync(folder).filter((name) => name.startsWith(beginning))

describe('named pipes', () => {
  it('serve many at once, each its own', async () => {
    const opened = await Promise.all(Array.from({ length: 200 }, () => pipes.openOutputPipe()))
    const texts = opened.map((_, i) => `text ${i}`)
    expect(await Promise.all(opened.map((pipe, i) => sendThrough(pipe, texts[i] as string)))).toEqual(texts)
    expect([names('taken-'), names('new-')]).toEqual([[], []])
  })

  it('serve several processes at once, each its own', async () => {
    const program = await bundle(
      `import { closeSync, writeSync } from 'node:fs'
       import { openOutputPipe } from './src/process/pipes.ts'
       const one = async (text: string) => {
         const pipe = await openOutputPipe()
         if (!pipe) return 'no pipe'
         let got = ''
         pipe.ours.on('data', (bytes) => { got += bytes })
         const over = new Promise((resolve) => pipe.ours.once('close', resolve))
         writeSync(pipe.theirs, text)
         closeSync(pipe.theirs)
         await over
         return got === text ? 'right' : 'wrong'
       }
       const answers = await Promise.all(Array.from({ length: 150 }, (_, i) => one(process.pid + ' ' + i)))
       console.log(JSON.stringify([...new Set(answers)]))`,
      world.path('many.mjs'),
    )
    const run = promisify(execFile)
    const runs = await Promise.all([1, 2, 3].map(() => run(process.execPath, [program], { env: { ...world.env } })))
    expect(runs.map(({ stdout }) => stdout)).toEqual(['["right"]\n', '["right"]\n', '["right"]\n'])
    expect([names('taken-'), names('new-')]).toEqual([[], []])
  })

  it('carry input as well, with end-of-file', async () => {
    const pipe = await pipes.openInputPipe()
    if (!pipe) throw new Error('no pipe')
    pipe.ours.end('for the child')
    const buffer = Buffer.alloc(100)
    await once(pipe.ours, 'finish')
    expect(buffer.toString('utf8', 0, readSync(pipe.theirs, buffer))).toBe('for the child')
    await once(pipe.ours, 'close')
    expect(readSync(pipe.theirs, buffer)).toBe(0)
    closeSync(pipe.theirs)
  })

  it('are for their owner alone', async () => {
    expect(await pipes.canMakePipes()).toBe(true)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(new Set(names('pipe-').map((name) => statSync(join(folder, name)).mode & 0o777))).toEqual(new Set([0o600]))
  })

  it('are not used from a folder that others can enter or have prepared; sockets serve there', async (test) => {
    const unsafe: (() => void)[] = [
      () => mkdirSync(folder, { mode: 0o755 }),
      () => {
        mkdirSync(folder)
        chmodSync(folder, 0o770)
      },
      () => {
        mkdirSync(world.path('elsewhere'), { mode: 0o700 })
        symlinkSync(world.path('elsewhere'), folder)
      },
      () => writeFileSync(folder, 'a file'),
    ]
    if (process.getuid?.() === 0) {
      unsafe.push(() => {
        mkdirSync(folder, { mode: 0o700 })
        chownSync(folder, 65_534, 65_534)
      })
    } else test.annotate('only root can make a folder that belongs to somebody else')
    for (const prepare of unsafe) {
      rmSync(folder, { recursive: true, force: true })
      prepare()
      vi.resetModules()
      const { canMakePipes, openInputPipe, openOutputPipe } = (await import('./pipes.ts')) as Pipes
      expect([await canMakePipes(), await openOutputPipe(), await openInputPipe()]).toEqual([false, undefined, undefined])
    }
  })

  it('are not made where there is no folder for temporary files', async () => {
    process.env.TMPDIR = world.path('missing')
    expect(await pipes.canMakePipes()).toBe(false)
  })

  it('are made again where their folder was cleaned away', async () => {
    expect(await pipes.canMakePipes()).toBe(true)
    rmSync(folder, { recursive: true })
    expect(await sendThrough(await pipes.openOutputPipe(), 'again')).toBe('again')
    expect(existsSync(folder)).toBe(true)
  })

  it('of killed processes are swept away after an hour, and nothing else is', async () => {
    mkdirSync(folder, { mode: 0o700 })
    const dead = spawnSync('true').pid
    const ofDead = [`taken-${dead}-abc-1`, `new-${dead}-abc-1`]
    const others = [`taken-${process.pid}-abc-1`, `new-${process.pid}-abc-1`, 'something']
    for (const name of [...ofDead, ...others]) execFileSync('mkfifo', ['-m', '600', join(folder, name)])
    const file = `taken-${dead}-file`
    writeFileSync(join(folder, file), 'not a pipe')
    const fill = async (): Promise<void> => {
      // More than there are, so that new ones are made.
      for (const pipe of await Promise.all(Array.from({ length: 80 }, () => pipes.openOutputPipe()))) await sendThrough(pipe, 'x')
    }
    await fill()
    expect(readdirSync(folder)).toEqual(expect.arrayContaining([...ofDead, ...others, file]))
    const now = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 2 * 3_600_000)
    await fill()
    expect(readdirSync(folder)).toEqual(expect.arrayContaining([...others, file]))
    expect(ofDead.filter((name) => existsSync(join(folder, name)))).toEqual([])
  })
})
