import type { InputResult } from '../../app/api.ts'
import { plural } from '../../core/text.ts'
import { input } from '../../operations/input.ts'
import { parseInput } from '../../operations/operation.ts'
import { type Command, commandFor, type Invocation, perform, shown } from './command.ts'
import { cliNaming } from './option.ts'
import { print } from './print.ts'
import { chunksOf, untilAborted } from './read-input.ts'

export const inputCommand: Command = commandFor(input, 'input', 'Run commands', {
  usage: ['input [options] RUN [TEXT|-]'],
  details: [input.description, 'With -, what standard input has is written as it comes. A text that begins with a dash stands behind --.'],
  async run(invocation) {
    const { parsed } = invocation
    const result = parsed.input.text === '-' ? await passOn(invocation) : await perform(input, invocation, parsed.input)
    print(invocation, result, shown<InputResult>(presentInput))
    return 0
  },
})

/** Writes what our standard input has as it comes; the line feed and the end that were asked for follow it. */
async function passOn(invocation: Invocation): Promise<InputResult> {
  const { io, parsed, signal } = invocation
  const asked = parseInput(input, parsed.input, cliNaming(input))
  // A run that takes no input is told before anything is waited for, and "last" stays the run that it is now.
  let result = await perform(input, invocation, { run: asked.run, text: '' })
  let { bytes } = result
  const write = async (part: { text?: Uint8Array; enter?: boolean | undefined; end?: boolean | undefined }): Promise<void> => {
    result = await perform(input, invocation, { run: result.id, ...part })
    bytes += result.bytes
  }
  for await (const text of untilAborted(chunksOf(io, '-'), signal)) {
    await write({ text })
    if (!result.open) break
  }
  if (result.open && !signal.aborted && (asked.enter || asked.end)) await write({ enter: asked.enter, end: asked.end })
  return { ...result, bytes }
}

function presentInput({ id, bytes, open, state }: InputResult): string {
  const over = open ? '' : state === 'running' ? 'Its input has ended.' : 'The run has ended.'
  if (bytes === 0 && !open) return state === 'running' ? `Ended the input of run ${id}.` : `Run ${id} has ended.`
  return `${plural(bytes, 'byte')} written to run ${id}. ${over}`.trimEnd()
}
