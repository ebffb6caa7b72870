import type { Operation } from '../../operations/operation.ts'
import { type Invocation, perform } from './command.ts'
import { openLiveLine } from './live-line.ts'

/** Performs what may take a while, and says on a terminal what is being done. */
export async function performInSteps<Output>(
  op: Operation<Operation['input'], Output>,
  invocation: Invocation,
  first: string,
  input: Readonly<Record<string, unknown>> = invocation.parsed.input,
): Promise<Output> {
  const { stderr } = invocation
  const line = stderr.isTerminal ? openLiveLine(stderr, first) : undefined
  try {
    return await perform(op, invocation, input, line ? { onStep: line.say } : {})
  } finally {
    line?.close()
  }
}
