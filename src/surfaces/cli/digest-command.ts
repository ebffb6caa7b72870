import { digest } from '../../operations/digest.ts'
import { commandFor, perform, shown } from './command.ts'
import { print } from './print.ts'
import { readLog } from './read-input.ts'

export const digestCommand = commandFor(digest, 'digest', 'Read what they printed', {
  usage: ['digest [options] [FILE]'],
  positionals: ['file'],
  positionalsAreOwn: true,
  async run(invocation) {
    const { file } = invocation.parsed.own
    const text = await readLog(invocation.io, typeof file === 'string' ? file : '-')
    const result = await perform(digest, invocation, { ...invocation.parsed.input, text })
    print(
      invocation,
      result,
      shown<{ digest: string }>((made) => made.digest),
    )
    return 0
  },
})
