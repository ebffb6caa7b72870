import { digest } from '../../operations/digest.ts'
import { commandFor, perform, shown } from './command.ts'
import { ownOption } from './option.ts'
import { print } from './print.ts'
import { openLog } from './read-input.ts'

export const digestCommand = commandFor(digest, 'digest', 'Read what they printed', {
  usage: ['digest [options] [FILE]'],
  positionals: ['file'],
  positionalsAreOwn: true,
  endsAtOnce: true,
  options: [ownOption('--previous', 'The log of an earlier run of the same that passed: what is new against it counts more.', { value: 'FILE' })],
  async run(invocation) {
    const { file, previous } = invocation.parsed.own
    const log = await openLog(invocation.io, typeof file === 'string' ? file : '-')
    const earlier = typeof previous === 'string' ? await openLog(invocation.io, previous) : undefined
    const result = await perform(digest, invocation, { ...invocation.parsed.input, text: log, previous: earlier }).finally(() => {
      log.close()
      earlier?.close()
    })
    print(
      invocation,
      result,
      shown<{ digest: string }>((made) => made.digest),
    )
    return 0
  },
})
