import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Input } from '../core/command.ts'
import { type ErrorCode, errorCodes, failure, HoldfastError, toHoldfastError } from '../core/errors.ts'
import type { App, ExecInput } from './api.ts'
import type { AppContext } from './context.ts'

/**
 * A detached run is held by a process of its own. It gets the request on its standard input, so that no value of a variable is ever
 * an argument of a process, and answers with one line as soon as the run has begun or was refused.
 */
interface HolderRequest {
  readonly input: Omit<ExecInput, 'stdin'>
  readonly stdin: string | null
}

type HolderAnswer = { readonly id: string } | { readonly error: ReturnType<HoldfastError['toJSON']> }

export async function holdElsewhere(context: AppContext, { detach: _, waitMs: __, ...input }: ExecInput, plain: boolean): Promise<string> {
  const { stdin, ...rest } = input
  const request: HolderRequest = { input: rest, stdin: stdin === undefined ? null : (await collect(stdin)).toString('base64') }
  const errors = existsSync(context.home.runs) ? join(context.home.path, 'holder.log') : '/dev/null'
  let line: string
  try {
    line = await context.machine.startHolder({ input: `${JSON.stringify(request)}\n`, errors, cwd: context.base, plain })
  } catch (error) {
    throw failure('internal', { what: `the process that would hold the run could not be started: ${toHoldfastError(error).message} (see ${errors})` }, error)
  }
  const answer = JSON.parse(line) as HolderAnswer
  if ('id' in answer) return answer.id
  const { code, message, details } = answer.error
  throw new HoldfastError(isErrorCode(code) ? code : 'internal', message, details as HoldfastError['details'])
}

// The run is to outlive this process, so what it reads has to be there as a whole.
async function collect(stdin: string | Input): Promise<Buffer> {
  if (typeof stdin === 'string' || stdin instanceof Uint8Array) return Buffer.from(stdin as Uint8Array)
  const chunks: Uint8Array[] = []
  for await (const chunk of stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const isErrorCode = (code: string): code is ErrorCode => (errorCodes as readonly string[]).includes(code)

/** The other side: runs the request that `read` gives, says its id through `answer`, and resolves when the run is over. */
export async function holdRun(app: App, read: () => Promise<string>, answer: (line: string) => void): Promise<void> {
  const say = (value: HolderAnswer): void => answer(`${JSON.stringify(value)}\n`)
  try {
    const { input, stdin } = JSON.parse(await read()) as HolderRequest
    await app.exec(stdin === null ? input : { ...input, stdin: Buffer.from(stdin, 'base64') }, { onBegin: ({ id }) => say({ id }) })
  } catch (error) {
    say({ error: toHoldfastError(error).toJSON() })
  }
}
