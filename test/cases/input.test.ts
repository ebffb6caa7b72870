import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { caseFile, caseText, describeCases, exited, expectNothingLeft, logOf, named, openPlace, runProgram, testsInPlace } from './place.ts'
import { openSshDoor } from './ssh-door.ts'

const inPlace = testsInPlace(40_000)

interface Step {
  readonly exec: string
  readonly expectExit?: number
  readonly expectOut?: string
  readonly expectNot?: string
}

describeCases('B: stdin, prompts, editors', () => {
  for (const detach of [false, true]) {
    const how = detach ? 'in the background' : 'in the foreground'
    inPlace(`B011: without input a command ${how} reads end-of-file at once`, async ({ holdfast }) => {
      const run = await holdfast.exec({ argv: ['bash', caseFile('B011.sh')], ...(detach ? { detach, waitMs: 10_000 } : {}) })
      expect(run.outcome).toEqual(exited(0))
      expect(run.durationMs).toBeLessThan(2_000)
      expect(logOf(run)).toMatch(/read-rc=1 answer=<>\ncat-rc=0\nwaited=0\n/)
    })

    inPlace(`B011: input that is given arrives ${how}, and then end-of-file`, async ({ holdfast }) => {
      const run = await holdfast.exec({ argv: ['bash', caseFile('B011.sh')], stdin: 'yes\nmore\n', ...(detach ? { detach, waitMs: 10_000 } : {}) })
      expect(run.outcome).toEqual(exited(0))
      expect(logOf(run)).toMatch(/read-rc=0 answer=<yes>\ncat-rc=0\nwaited=0\n/)
    })
  }

  inPlace('B012: git commit without a message ends at once and says why', async ({ holdfast }) => {
    const run = await holdfast.exec({ argv: ['bash', caseFile('B012.sh')], timeoutMs: 60_000 })
    expect(run.outcome).toEqual(exited(1))
    expect(run.durationMs).toBeLessThan(3_000)
    expect(run.digest).toMatch(/no editor|empty commit message/i)
    expect(logOf(run, 'stderr')).not.toContain('EDITOR-OPENED')
    expect(named('b012-editor')).toEqual([])
    expectNothingLeft(run)
  })

  inPlace('B014: an editor that the command names itself is the one that is used', async ({ holdfast }) => {
    const run = await holdfast.exec({ argv: ['bash', caseFile('B014.sh')], timeoutMs: 15_000 })
    expect(run.outcome).toEqual(exited(0))
    expect(logOf(run)).toContain('core.editor rc=0\n')
    expect(logOf(run)).toContain('GIT_EDITOR rc=0\n')
  })

  inPlace('B015: there is no terminal to ask on, so a password prompt fails at once and is seen', async ({ holdfast }) => {
    const run = await holdfast.exec({ argv: ['bash', caseFile('B015.sh')], idleTimeoutMs: 5_000 })
    expect(run.outcome).toEqual(exited(1))
    expect(logOf(run, 'stderr')).toContain('[sudo] password for dev: ')
    expect(run.digest).toContain('[sudo] password for dev:')
    expect(run.digest).toContain('a terminal is required')
  })

  inPlace('B077: git asks nobody for a user name', async ({ holdfast, world }) => {
    const server = createServer((_, response) => response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="b077"' }).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`
    const helpers = { GIT_ASKPASS: '/bin/cat', SSH_ASKPASS: '/bin/cat', DISPLAY: ':0' }
    await using asked = await openPlace({ env: { ...world.env, ...helpers } })
    const [inner, outer, withHelpers] = await Promise.all([
      holdfast.exec({ argv: [process.execPath, caseFile('B077.js')], timeoutMs: 30_000 }),
      holdfast.exec({ argv: ['git', 'ls-remote', url], timeoutMs: 30_000 }),
      asked.holdfast.exec({ argv: ['git', 'ls-remote', url], timeoutMs: 30_000 }),
    ])
    server.close()
    expect(logOf(inner)).toMatch(/code 128, signal null: .*(could not read Username|terminal prompts disabled)/)
    for (const run of [outer, withHelpers]) {
      expect(run.outcome).toEqual(exited(128))
      expect(run.durationMs).toBeLessThan(5_000)
      expect(logOf(run, 'stderr')).toMatch(/could not read Username|terminal prompts disabled/)
      expectNothingLeft(run)
    }
  })

  const ssh = spawnSync('ssh', ['-V']).status === 0
  if (!ssh) console.warn('skipped: B077 with ssh: there is no ssh here')
  const withSsh: typeof inPlace = ssh ? inPlace : (title) => it.skip(title)
  withSsh('B077: ssh does not ask whether an unknown host key is right', async ({ holdfast }) => {
    const door = await openSshDoor()
    const run = await holdfast.exec({ argv: ['git', 'ls-remote', `ssh://git@127.0.0.1:${door.port}/x.git`], timeoutMs: 30_000 })
    door.close()
    expect(logOf(run, 'stderr')).toContain('Host key verification failed')
    expect(run.outcome).toEqual(exited(128))
    expect(run.durationMs).toBeLessThan(5_000)
    expectNothingLeft(run)
  })

  for (const [name, status, said] of [
    ['B016.cmd', 0, /warning: here-document/],
    ['B016b.cmd', 2, /unexpected EOF/],
  ] as const) {
    inPlace(`${name}: an unfinished script does what it does in the shell, and the next one works`, async ({ holdfast, world }) => {
      const plain = await runProgram('bash', ['-c', caseText(name)], { cwd: world.root, env: world.env })
      const run = await holdfast.exec({ script: caseText(name) })
      expect(run.outcome).toEqual(exited(status))
      expect(run.durationMs).toBeLessThan(2_000)
      expect([plain.status, plain.stdout]).toEqual([status, logOf(run)])
      expect(logOf(run, 'stderr')).toMatch(said)
      expect(logOf(await holdfast.exec({ script: 'echo next' }))).toBe('next\n')
    })
  }

  for (const [name, text] of [
    ['B017.cmd', "body $HOME `x` it's\n"],
    ['B018.cmd', 'ok\n'],
    ['B018b.cmd', 'bg-ok\n'],
  ] as const) {
    inPlace(`${name}: the text of a script is not changed by what runs it`, async ({ holdfast, cli }) => {
      const runs = [
        await holdfast.exec({ script: caseText(name) }),
        await holdfast.exec({ argv: ['bash', '-c', caseText(name)] }),
        (await cli(['exec', '--json', '-c', caseText(name)])).json(),
        (await cli(['exec', '--json', '-c', '-'], { input: caseText(name) })).json(),
      ]
      for (const run of runs) {
        expect(run.outcome).toEqual(exited(0))
        expect([logOf(run), logOf(run, 'stderr')]).toEqual([text, ''])
      }
    })
  }

  inPlace('B019: options, an exit and a closed stdout of one command mean nothing to the next', async ({ holdfast }) => {
    for (const step of JSON.parse(caseText('B019.seq.json')) as Step[]) {
      const run = await holdfast.exec({ script: step.exec, timeoutMs: 10_000 })
      if (step.expectExit === undefined) expect(run.outcome?.exitCode).not.toBe(0)
      else expect(run.outcome).toEqual(exited(step.expectExit))
      if (step.expectOut !== undefined) expect(logOf(run)).toBe(`${step.expectOut.trimEnd()}\n`)
      if (step.expectNot !== undefined) expect(logOf(run)).not.toContain(step.expectNot)
    }
  })

  inPlace('B084: text that looks like the end of a command ends nothing', async ({ holdfast, world }) => {
    const plain = spawnSync('bash', [caseFile('B084.sh')], { cwd: world.root, env: world.env })
    const run = await holdfast.exec({ argv: ['bash', caseFile('B084.sh')] })
    expect(run.outcome).toEqual(exited(9))
    expect(logOf(run)).toBe(plain.stdout.toString('utf8'))
    const { text } = await holdfast.output({ run: run.id })
    for (const line of ['###PS1JSON###', '{"exit_code": 0}', '__CMD_DONE_0__', '[exit 0]', '<exit_code>0</exit_code>', '--- truncated ---']) {
      expect(text).toContain(`${line}\n`)
    }
    expect(text).toContain('\ufffdEXIT=0\ufffd')
    expect(run.digest.split('\n')[0]).toContain('exit 9 (failed)')
  })
})
