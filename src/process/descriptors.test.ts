import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openWorld } from '../../test/support/world.ts'

const onLinux = process.platform === 'linux'

it.runIf(onLinux)('closes what a program got from whoever started it, and nothing of its own', async () => {
  await using world = openWorld()
  const program = await bundle(
    `import { execFileSync } from 'node:child_process'
     import { openSync, readSync } from 'node:fs'
     import { closeInheritedDescriptors } from './src/process/descriptors.ts'
     const own = openSync(process.execPath, 'r')
     const seen = () => execFileSync('sh', ['-c', 'ls /proc/$$/fd'], { encoding: 'utf8' }).trim().split('\\n').map(Number)
     const before = seen()
     closeInheritedDescriptors()
     console.log(JSON.stringify({ before, after: seen(), own: readSync(own, Buffer.alloc(4)) }))`,
    world.path('program.mjs'),
  )
  const text = execFileSync('bash', ['-c', 'exec 200</dev/null 77</dev/null; exec "$@"', 'bash', process.execPath, program], {
    encoding: 'utf8',
    env: world.env,
  })
  const { before, after, own } = JSON.parse(text) as { before: number[]; after: number[]; own: number }
  expect(before).toEqual(expect.arrayContaining([0, 1, 2, 200]))
  expect(after.sort()).toEqual([0, 1, 2])
  expect(own).toBe(4)
})
