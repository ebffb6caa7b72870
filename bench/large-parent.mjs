// A process with some memory that runs what it is asked for: `node large-parent.mjs MB ROOT`. A message says what, the answer what one run took.
import { openHoldfast } from '../dist/index.mjs'
import { costOf } from './measure.mjs'
import { rawCapture } from './raw.mjs'

const [megabytes, root] = process.argv.slice(2)
// What is written to is resident, and stays so until the last look at it.
const ballast = Buffer.alloc(Number(megabytes) * 1024 ** 2, 1)
const holdfast = await openHoldfast({ root })
const runs = { raw: () => rawCapture('/bin/true'), exec: () => holdfast.exec({ argv: ['/bin/true'] }) }

process.on('message', async ({ what, inARow }) => {
  if (what === 'end') {
    await holdfast.close()
    if (ballast.length > 0 && ballast[ballast.length - 1] !== 1) throw new Error('the ballast is gone')
    process.disconnect()
    return
  }
  const { ms, cpuMs } = await costOf(async () => {
    for (let i = 0; i < inARow; i += 1) await runs[what]()
  })
  process.send({ ms: ms / inARow, cpuMs: cpuMs / inARow })
})
process.send('ready')
