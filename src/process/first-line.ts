import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'

/** What it may say at most before its line ends. */
const maxLineChars = 4096

/**
 * The first line that a program prints. Rejects when it ends, or `timeoutMs` pass, before one came, with what it said on a standard
 * error that is a pipe. Either way it is let go then: it lives on, and does not keep this process alive.
 */
export function firstLineOf(child: ChildProcess, timeoutMs: number): Promise<string> {
  // Without a descriptor to spare Node makes no pipes, and the error comes a moment later.
  const stdout: Readable | null | undefined = child.stdout
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    if (complaint.length < maxLineChars) complaint += chunk
  })
  return new Promise<string>((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => settle(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    const settle = (result: string | Error): void => {
      clearTimeout(timer)
      stdout?.destroy()
      child.stderr?.destroy()
      child.unref()
      if (typeof result === 'string') resolve(result)
      else reject(result)
    }
    child.once('error', settle)
    // Not `exit`: what it wrote just before its end may still be in the pipe then.
    child.once('close', (code, signal) => settle(new Error(`it ended at once (${complaint.trim() || (signal ?? `exit ${code}`)})`)))
    stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\n')
      if (end !== -1) settle(text.slice(0, end))
      else if (text.length > maxLineChars) settle(new Error('it printed something else'))
    })
  })
}
