import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'

export interface Answer {
  readonly output: string
  readonly status: number
}

/** One shell in which the commands of a page are typed one after the other, so that variables and folders last. */
export interface Shell {
  type(command: string): Promise<Answer>
  close(): Promise<void>
}

const patienceMs = 60_000

/** Both streams come as one, as a person sees them. A command that takes too long, or a shell that ends, rejects with what there was. */
export function openShell(cwd: string, env: Readonly<Record<string, string>>): Shell {
  const child: ChildProcess = spawn('bash', ['--noprofile', '--norc'], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  let printed = ''
  let wake = (): void => {}
  let over = false
  const gone = new Promise<void>((resolve) => {
    child.on('close', () => {
      over = true
      wake()
      resolve()
    })
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      wake()
    })
  }
  child.stdin?.write('exec 2>&1\n')

  async function type(command: string): Promise<Answer> {
    const mark = randomBytes(8).toString('hex')
    const end = new RegExp(`${mark} (\\d+)\\n`)
    printed = ''
    child.stdin?.write(`{ ${command}\n} </dev/null\nprintf '%s %s\\n' ${mark} $?\n`)
    const timer = setTimeout(() => {
      over = true
      wake()
    }, patienceMs)
    try {
      for (;;) {
        const found = end.exec(printed)
        if (found) return { output: printed.slice(0, found.index).replace(/\n$/, ''), status: Number(found[1]) }
        if (over) throw new Error(`the command did not end: ${command}\n${printed}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    type,
    async close() {
      child.stdin?.end()
      try {
        process.kill(-(child.pid as number), 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
      await gone
    },
  }
}
