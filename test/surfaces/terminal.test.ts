import { expect } from 'vitest'
import type { RunResult } from '../../src/index.ts'
import { describeSupervised, logOf, type Place, program, testsInPlace, until } from '../cases/place.ts'

/**
 * The command line in a terminal. The terminal is the one that a supervisor gives to a run, and a person is who writes to that
 * run; the commands in it are runs of their own.
 */
const test = testsInPlace(60_000)

const holdfast = `'${process.execPath}' '${program}'`

/** A shell in a terminal, and a person before it. */
async function sitDown({ holdfast: outer }: Place, script: string, pty: { rows: number; columns: number } = { rows: 30, columns: 90 }) {
  const { id } = await outer.exec({ script, pty, interactive: true, detach: true, timeoutMs: 50_000 })
  const screen = async (): Promise<string> => (await outer.output({ run: id })).text
  return {
    id,
    screen,
    sees: (text: string): Promise<string> => until(`"${text}" on the screen`, async () => ((await screen()).includes(text) ? screen() : ''), 30_000),
    type: (text: string) => outer.input({ run: id, text }),
    resize: (rows: number, columns: number) => outer.input({ run: id, size: { rows, columns } }),
    leaves: (): Promise<RunResult> => outer.wait({ run: id, waitMs: 40_000 }),
  }
}

/** The runs that were begun in the terminal. */
const inner = async ({ holdfast: outer }: Place, query: string) => (await outer.runs({ query })).runs.filter(({ command }) => !command.includes(program))

describeSupervised('the command line in a terminal', () => {
  test('gives the command a terminal of the same size, and shows how it ended after its output', async (place) => {
    const person = await sitDown(place, `${holdfast} exec --pty -- bash -c 'stty size; test -t 0 && test -t 2 && exit 5'; echo "status $?"`)
    const result = await person.leaves()
    expect(await person.screen()).toMatch(/^30 90\nexit 5 \(failed\); .*; run [0-9a-z]{12}\nstatus 5\n$/)
    expect(result.digest).toContain('3 lines on the terminal')
  })

  test('passes keys on as they are typed, Ctrl-C too, and gives the terminal back', async (place) => {
    const script = `${holdfast} exec --pty --interactive -- bash -c 'trap "echo caught" INT; echo ready; read -r line; echo "read <$line>"; exit 6'
      echo "status $?"; stty -a | grep -o -E -e '-?(icanon|echo|isig)\\b' | tr '\\n' ' '`
    const person = await sitDown(place, script)
    await person.sees('ready')
    await person.type('\u0003')
    await person.sees('caught')
    await person.type('words\r')
    await person.leaves()
    const screen = await person.screen()
    expect(screen).toContain('read <words>')
    expect(screen).toMatch(/status 6\nisig icanon echo\s*$/)
  })

  test('tells the command when the window changes its size', async (place) => {
    const person = await sitDown(place, `${holdfast} exec --pty -- bash -c 'trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.05; done'`)
    await person.sees('ready')
    await person.resize(41, 101)
    await person.sees('41 101')
    await person.leaves()
  })

  test('undoes what a command that was ended left changed', async (place) => {
    const person = await sitDown(
      place,
      `${holdfast} exec --pty --timeout 1s -- bash -c 'printf "\\033[?25l\\033[?1049h\\033[31mfull screen"; sleep 60'; echo "status $?"`,
    )
    const result = await person.leaves()
    expect(logOf(result)).toMatch(/full screen[\s\S]*\u001b\[0m[\s\S]*\u001b\[\?1049l[\s\S]*\u001b\[\?25h[\s\S]*timed out[\s\S]*status 124/)
  })

  test('cancels a foreground command with Ctrl-C', async (place) => {
    const person = await sitDown(place, `${holdfast} exec --stream -- bash -c 'echo ready; exec sleep 60'; echo "status $?"`)
    await person.sees('ready')
    await person.type('\u0003')
    await person.leaves()
    expect(await person.screen()).toContain('status 130')
    expect(await inner(place, 'sleep 60')).toMatchObject([{ state: 'ended', outcome: { kind: 'canceled' } }])
  })

  test('leaves a run alone that is waited for, or looked at, when Ctrl-C ends that', async (place) => {
    const started = await place.holdfast.exec({ script: 'echo served; exec sleep 60', detach: true })
    const person = await sitDown(place, `${holdfast} wait ${started.id}; echo "wait $?"; ${holdfast} output --follow ${started.id}; echo "follow $?"`)
    await person.sees('waiting for')
    await person.type('\u0003')
    await person.sees('wait 130')
    await until('what it printed is shown', async () => (await person.screen()).match(/^served$/gm)?.length === 2, 30_000)
    await person.type('\u0003')
    await person.leaves()
    expect(await person.screen()).toContain('follow 130')
    expect((await person.screen()).match(new RegExp(`run ${started.id} goes on`, 'g'))).toHaveLength(2)
    expect(await place.holdfast.show({ run: started.id })).toMatchObject({ state: 'running' })
    await place.holdfast.stop({ run: started.id })
  })

  test('has of a full-screen program its last screen, and of redrawn lines the last ones, with all of it in the log', async (place) => {
    const frames = 'for i in 1 2 3; do printf "step $i\\nof 3\\n"; sleep 0.1; [ $i = 3 ] || printf "\\033[2A\\033[J"; done'
    const program = 'printf "\\033[?1049h\\033[Hmenu"; printf "\\033[H\\033[2Jabout"; printf "\\033[?1049l"'
    const result = await place.holdfast.exec({ script: `${frames}; ${program}; echo bye`, pty: true })
    expect((await place.holdfast.output({ run: result.id })).text).toBe('step 3\nof 3\nabout\nbye\n')
    const raw = (await place.cli(['output', result.id, '--raw'])).stdout
    expect(raw).toBe(logOf(result))
    for (const text of ['step 1', 'step 2', 'menu', '\u001b[?1049h']) expect(raw).toContain(text)
    expect(await place.holdfast.search({ query: 'menu' })).toMatchObject({ hits: [] })
    expect(await place.holdfast.search({ query: 'about' })).toMatchObject({ hits: [{ ref: `${result.id}:3`, text: 'about' }] })
  })

  test('masks a secret that stands on the screen, however it came there', async (place) => {
    const script = 'printf "%s\\033[5C%s\\n" "${TOKEN:0:6}" x; printf "\\033[1A\\033[6C%s\\033[K\\n" "${TOKEN:6}"'
    const result = await place.holdfast.exec({ script, env: { TOKEN: 'wxyz-1234567890-secret' }, pty: true })
    expect((await place.holdfast.output({ run: result.id })).text).not.toMatch(/wxyz-1234567890/)
    expect((await place.cli(['output', result.id])).stdout).not.toMatch(/wxyz-1234567890/)
    expect(result.digest).not.toMatch(/wxyz-1234567890/)
    expect(logOf(result)).toContain('wxyz-1')
  })
})
