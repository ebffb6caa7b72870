import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../core/errors.ts'
import { type LoadedConfig, loadConfig, personConfigPath } from './load.ts'
import { defaultSettings } from './settings.ts'

const projectFile = '/project/holdfast.json'
const personFile = '/person/holdfast.json'

/** Loads these two files; text is taken as it is. */
function load(project?: unknown, person?: unknown): Promise<LoadedConfig> {
  const write = (content: unknown): string | undefined => (content === undefined || typeof content === 'string' ? content : JSON.stringify(content))
  const texts = new Map([
    [projectFile, write(project)],
    [personFile, write(person)],
  ])
  return loadConfig({ projectFile, personFile, read: (path) => texts.get(path) })
}

async function problemsOf(project?: unknown, person?: unknown): Promise<readonly string[]> {
  const error = await load(project, person).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof HoldfastError) || error.details.reason !== 'invalid_config') throw error ?? new Error('nothing was refused')
  return error.details.problems as string[]
}

const sourceOf = ({ sources }: LoadedConfig, key: string) => sources.find((source) => source.key === key)

describe('without files', () => {
  it('the defaults are in force, and are said to be defaults', async () => {
    const loaded = await load()
    expect(loaded.settings).toEqual(defaultSettings)
    expect(loaded.files).toEqual([
      { path: personFile, found: false },
      { path: projectFile, found: false },
    ])
    expect(loaded.disabledBy).toBeNull()
    expect(new Set(loaded.sources.map(({ source }) => source))).toEqual(new Set(['default']))
    expect(Object.fromEntries(loaded.sources.map(({ key, value }) => [key, value]))).toEqual({
      enabled: true,
      'limits.timeoutMs': '10m',
      'limits.idleTimeoutMs': null,
      'limits.graceMs': '2s',
      'limits.maxOutputBytes': '64MiB',
      'limits.maxTimeoutMs': '24h',
      runtimes: {},
      'env.pass': [],
      'env.set': {},
      'mask.names': [],
      'mask.patterns': [],
      'retention.maxAge': '90d',
      'retention.maxRuns': 50_000,
      'retention.maxBytes': '10GiB',
      targets: {},
      defaultTarget: 'host',
      'supervisor.use': 'auto',
      'supervisor.idleMs': '10m',
      'digest.budget': 2048,
      'notes.maxPerScope': 200,
      'hooks.leadToExec': false,
      'workspaces.root': null,
      'workspaces.setup': null,
      'workspaces.copyOnWrite': false,
      'workspaces.lfs': 'auto',
      'workspaces.submodules': 'init-offline',
      'workspaces.sparse': 'inherit',
      'workspaces.carry': [],
      'workspaces.ports': 0,
      'workspaces.passEnv': [],
      'workspaces.remote': null,
      'workspaces.remotePolicy': 'prefer-remote',
      'workspaces.trusted': [],
      'workspaces.maxWorkspaces': null,
      'workspaces.maxBytes': null,
      'workspaces.minFree': '256MiB',
      'workspaces.idle': '14d',
      'workspaces.keepRescues': '30d',
    })
  })
})

describe('a value', () => {
  it.each<[object, (settings: LoadedConfig['settings']) => unknown, unknown]>([
    [{ limits: { timeoutMs: '30s' } }, (s) => s.limits.timeoutMs, 30_000],
    [{ limits: { timeoutMs: 1500 } }, (s) => s.limits.timeoutMs, 1500],
    [{ limits: { timeoutMs: '1.5h' } }, (s) => s.limits.timeoutMs, 5_400_000],
    [{ limits: { idleTimeoutMs: null } }, (s) => s.limits.idleTimeoutMs, null],
    [{ limits: { idleTimeoutMs: '2m' } }, (s) => s.limits.idleTimeoutMs, 120_000],
    [{ limits: { graceMs: '500ms' } }, (s) => s.limits.graceMs, 500],
    [{ limits: { maxOutputBytes: '64KiB' } }, (s) => s.limits.maxOutputBytes, 65_536],
    [{ limits: { maxOutputBytes: 1024 } }, (s) => s.limits.maxOutputBytes, 1024],
    [{ limits: { maxOutputBytes: '10MB' } }, (s) => s.limits.maxOutputBytes, 10_000_000],
    [{ limits: { maxTimeoutMs: '48h' } }, (s) => s.limits.maxTimeoutMs, 172_800_000],
    [{ runtimes: { ruby: 'ruby' } }, (s) => s.runtimes, { ruby: ['ruby'] }],
    [{ runtimes: { deno: ['deno', 'run', ''] } }, (s) => s.runtimes, { deno: ['deno', 'run', ''] }],
    [{ runtimes: { ruby: '/opt/my ruby/bin/ruby' } }, (s) => s.runtimes, { ruby: ['/opt/my ruby/bin/ruby'] }],
    [{ env: { pass: ['CI', '_x1'] } }, (s) => s.env.pass, ['CI', '_x1']],
    [{ env: { set: { NODE_ENV: 'test', EMPTY: '' } } }, (s) => s.env.set, { NODE_ENV: 'test', EMPTY: '' }],
    [{ mask: { names: ['INTERNAL_*'] } }, (s) => s.mask.names, ['INTERNAL_*']],
    [{ mask: { patterns: ['EMP-\\d+'] } }, (s) => s.mask.patterns, [/EMP-\d+/]],
    [{ retention: { maxAge: '12h' } }, (s) => s.retention.maxAgeMs, 43_200_000],
    [{ retention: { maxRuns: 1 } }, (s) => s.retention.maxRuns, 1],
    [{ retention: { maxBytes: '1GiB' } }, (s) => s.retention.maxBytes, 1024 ** 3],
    [{ digest: { budget: 4096 } }, (s) => s.digest.budget, 4096],
    [{ digest: { budget: '1KiB' } }, (s) => s.digest.budget, 1024],
    [{ hooks: { leadToExec: true } }, (s) => s.hooks.leadToExec, true],
    [{ $schema: './node_modules/holdfast/schemas/config.schema.json', enabled: true }, (s) => s, defaultSettings],
  ])('%j is read', async (file, of, expected) => {
    expect(of((await load(file)).settings)).toEqual(expected)
  })

  it.each<[object, string]>([
    [{ limits: { timeoutMs: 'soon' } }, 'limits.timeoutMs is "soon"; accepted: a duration like "30s", "5m" or "2h", or a number of milliseconds from 1'],
    [{ limits: { timeoutMs: '30' } }, 'limits.timeoutMs is "30"; accepted: a duration like "30s"'],
    [{ limits: { timeoutMs: 0 } }, 'limits.timeoutMs is 0; accepted:'],
    [{ limits: { timeoutMs: -5 } }, 'limits.timeoutMs is -5; accepted:'],
    [{ limits: { timeoutMs: '0s' } }, 'limits.timeoutMs is "0s"; accepted:'],
    [{ limits: { timeoutMs: '99999999d' } }, 'limits.timeoutMs is "99999999d"; accepted:'],
    [{ limits: { timeoutMs: null } }, 'limits.timeoutMs is null; accepted:'],
    [
      { limits: { idleTimeoutMs: false } },
      'limits.idleTimeoutMs is false; accepted: a duration like "30s", "5m" or "2h", or a number of milliseconds from 1, or null',
    ],
    [{ limits: { maxOutputBytes: 1023 } }, 'limits.maxOutputBytes is 1023; accepted: a size like "64MiB" or "10GB", or a whole number of bytes, from 1024'],
    [{ limits: { maxOutputBytes: '1b' } }, 'limits.maxOutputBytes is "1b"; accepted:'],
    [{ limits: { maxOutputBytes: 2048.5 } }, 'limits.maxOutputBytes is 2048.5; accepted:'],
    [{ limits: '30s' }, 'limits is "30s"; accepted: an object with timeoutMs, idleTimeoutMs, graceMs, maxOutputBytes, maxTimeoutMs'],
    [{ limits: [1] }, 'limits is a list; accepted: an object with timeoutMs'],
    [{ runtimes: { ruby: 'ruby -w' } }, 'runtimes.ruby is "ruby -w"; accepted: a program, or a list of a program and its arguments like ["ruby", "-w"]'],
    [{ runtimes: { ruby: [] } }, 'runtimes.ruby is an empty list; accepted: a program, or a list'],
    [{ runtimes: { ruby: [''] } }, 'runtimes.ruby is a list; accepted: a program, or a list'],
    [{ runtimes: { ruby: '' } }, 'runtimes.ruby is ""; accepted: a program'],
    [{ runtimes: { 'my ruby': 'ruby' } }, 'runtimes has the name "my ruby"; accepted: a name of letters, digits'],
    [{ runtimes: ['ruby'] }, 'runtimes is a list; accepted: an object of values by name'],
    [{ env: { pass: 'CI' } }, 'env.pass is "CI"; accepted: a list of names of variables'],
    [{ env: { pass: ['CI', 'bad-name'] } }, 'env.pass[1] is "bad-name"; accepted: a name of letters, digits and _, not beginning with a digit'],
    [{ env: { set: { '1X': 'a' } } }, 'env.set has the name "1X"; accepted: a name of letters, digits and _'],
    [{ env: { set: { X: 1 } } }, 'env.set.X is 1; accepted: text without NUL'],
    [{ env: { set: { X: 'a\0b' } } }, 'env.set.X is "a\\u0000b"; accepted: text without NUL'],
    [{ mask: { names: ['A B'] } }, 'mask.names[0] is "A B"; accepted: a name in which * stands for any characters'],
    [
      { mask: { patterns: ['(abc'] } },
      'mask.patterns[0] is "(abc"; accepted: a regular expression of JavaScript, without slashes and flags (in this one: Unterminated group)',
    ],
    [{ mask: { patterns: [''] } }, 'mask.patterns[0] is ""; accepted: a regular expression of JavaScript'],
    [{ retention: { maxAge: 90 } }, 'retention.maxAge is 90; accepted: a duration like "90d" or "12h"'],
    [{ retention: { maxRuns: 0 } }, 'retention.maxRuns is 0; accepted: a whole number from 1'],
    [{ retention: { maxBytes: 'lots' } }, 'retention.maxBytes is "lots"; accepted: a size like "64MiB"'],
    [{ supervisor: { use: 'always' } }, 'supervisor.use is "always"; accepted: auto or never'],
    [{ supervisor: { idleMs: 0 } }, 'supervisor.idleMs is 0; accepted: a duration like "30s"'],
    [{ notes: { maxPerScope: 0 } }, 'notes.maxPerScope is 0; accepted: a whole number from 1 to 10000'],
    [{ digest: { budget: 0 } }, 'digest.budget is 0; accepted: a size like "64MiB" or "10GB", or a whole number of bytes, from 1 to 1048576'],
    [{ enabled: 'no' }, 'enabled is "no"; accepted: true or false'],
    [
      { limts: {} },
      'limts is no setting; did you mean limits? (accepted: $schema, enabled, limits, runtimes, env, mask, retention, targets, defaultTarget, supervisor, workspaces, digest, notes, hooks)',
    ],
    [{ limits: { timeout_ms: 5 } }, 'limits.timeout_ms is no setting; did you mean limits.timeoutMs? (accepted in limits: timeoutMs,'],
    [{ budget: 5 }, 'budget is no setting; did you mean digest.budget? (accepted: '],
    [{ 'a\u001b[31m b': 5 }, '"a\\u001b[31m b" is no setting (accepted: '],
    [{ limits: { constructor: 5 } }, 'limits.constructor is no setting (accepted in limits: '],
    [[], 'what is in it is an empty list; accepted: an object with $schema, enabled, limits'],
  ])('%j is refused by file and key, with the value and what is accepted', async (file, sentence) => {
    const problems = await problemsOf(file)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`${projectFile}: ${sentence}`)
  })

  it.each(['{"env":{"set":{"__proto__":"x"}}}', '{"runtimes":{"__proto__":["x"]}}', '{"__proto__":{"enabled":false}}', '{"limits":{"__proto__":1}}'])(
    'with the name __proto__ is refused: %s',
    async (text) => {
      expect(await problemsOf(text)).toEqual([expect.stringContaining('__proto__')])
    },
  )
})

describe('the report', () => {
  it('lists every problem of both files at once', async () => {
    const problems = await problemsOf({ limits: { timoutMs: 1, graceMs: 'x' }, mask: { patterns: ['(', 'fine', '['] } }, { digest: { budget: -1 } })
    expect(problems.map((problem) => problem.split(' is ')[0])).toEqual([
      `${personFile}: digest.budget`,
      `${projectFile}: limits.timoutMs`,
      `${projectFile}: limits.graceMs`,
      `${projectFile}: mask.patterns[0]`,
      `${projectFile}: mask.patterns[2]`,
    ])
  })

  it('goes on with the other file where one is no JSON', async () => {
    expect(await problemsOf('{', { enabled: 1 })).toEqual([
      `${personFile}: enabled is 1; accepted: true or false`,
      `${projectFile}, line 1, column 2: the file ends where a key in double quotes or } is expected`,
    ])
  })

  it('stays short however much is wrong', async () => {
    const problems = await problemsOf(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`unknown${i}`, 1])))
    expect(problems).toHaveLength(21)
    expect(problems.at(-1)).toBe('and 480 more')
  })

  it('shows no value that stands beside the name of a secret', async () => {
    const secret = ['s3cr3t', 'value'].join('-')
    const wrong = [
      { env: { set: { API_TOKEN: secret } } },
      { env: { set: { API_TOKEN: [secret] } } },
      { env: { API_TOKEN: secret } },
      { env: { pass: [`API_TOKEN=${secret}`] } },
      { env: { pass: { API_TOKEN: secret } } },
      { env: { pass: [{ API_TOKEN: secret }] } },
    ]
    for (const file of wrong) {
      const problems = (await problemsOf(undefined, file)).join('\n')
      expect(problems).toContain('env.')
      expect(problems).not.toContain(secret)
    }
  })
})

describe('text of a file', () => {
  it('may begin with a byte order mark', async () => {
    expect((await load('\ufeff{"digest":{"budget":1000}}')).settings.digest.budget).toBe(1000)
  })

  it('is refused where it is too long to be a configuration', async () => {
    expect(await problemsOf(`{"$schema":"${'x'.repeat(1024 * 1024)}"}`)).toEqual([`${projectFile} has 1048590 characters; accepted: at most 1048576`])
  })

  it('is refused, and breaks nothing, where it is nested without end', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(await problemsOf(`{"limits":${deep},"env":{"pass":${deep}},"mask":{"names":[${deep}]},"runtimes":{"x":${deep}}}`)).toHaveLength(4)
  })
})

describe('two files', () => {
  const person = {
    limits: { timeoutMs: '1m', graceMs: '5s' },
    runtimes: { ruby: 'ruby', deno: 'deno' },
    env: { pass: ['CI'], set: { A: 'person', B: 'person' } },
    mask: { names: ['P_*'], patterns: ['p+'] },
  }
  const project = {
    limits: { timeoutMs: '2m' },
    runtimes: { ruby: ['ruby', '-w'] },
    env: { pass: ['JAVA_HOME', 'CI'], set: { A: 'project' } },
    mask: { names: ['Q_*'], patterns: ['q+', 'p+'] },
  }

  it('are merged setting by setting and name by name, the project first; lists are joined', async () => {
    const { settings } = await load(project, person)
    expect(settings.limits).toMatchObject({ timeoutMs: 120_000, graceMs: 5_000 })
    expect(settings.runtimes).toEqual({ ruby: ['ruby', '-w'], deno: ['deno'] })
    expect(settings.env).toEqual({ pass: ['CI', 'JAVA_HOME'], set: { A: 'project', B: 'person' } })
    expect(settings.mask).toEqual({ names: ['P_*', 'Q_*'], patterns: [/p+/, /q+/] })
  })

  it('are named as the sources of what they set', async () => {
    const loaded = await load(project, person)
    expect(sourceOf(loaded, 'limits.timeoutMs')).toEqual({ key: 'limits.timeoutMs', value: '2m', source: projectFile })
    expect(sourceOf(loaded, 'limits.graceMs')).toEqual({ key: 'limits.graceMs', value: '5s', source: personFile })
    expect(sourceOf(loaded, 'limits.maxTimeoutMs')?.source).toBe('default')
    expect(sourceOf(loaded, 'runtimes.ruby')).toEqual({ key: 'runtimes.ruby', value: ['ruby', '-w'], source: projectFile })
    expect(sourceOf(loaded, 'runtimes.deno')?.source).toBe(personFile)
    expect(sourceOf(loaded, 'runtimes')).toBeUndefined()
    expect(sourceOf(loaded, 'env.set.B')?.source).toBe(personFile)
    expect(sourceOf(loaded, 'env.pass')).toEqual({ key: 'env.pass', value: ['CI', 'JAVA_HOME'], source: `${personFile}, ${projectFile}` })
    expect(sourceOf(loaded, 'mask.patterns')).toEqual({ key: 'mask.patterns', value: ['p+', 'q+'], source: `${personFile}, ${projectFile}` })
  })

  it('that are one and the same count as the person’s', async () => {
    const loaded = await loadConfig({ projectFile: personFile, personFile, read: () => '{"env":{"pass":["API_TOKEN"]}}' })
    expect(loaded.settings.env.pass).toEqual(['API_TOKEN'])
    expect(loaded.files).toEqual([{ path: personFile, found: true }])
  })

  it.each([
    [{ enabled: false }, undefined, projectFile],
    [undefined, { enabled: false }, personFile],
    [{ enabled: true }, { enabled: false }, personFile],
    [{ enabled: false }, { enabled: true }, projectFile],
    [{ enabled: true }, { enabled: true }, null],
  ])('turn Holdfast off when one of them does: project %j, person %j', async (project, person, file) => {
    const loaded = await load(project, person)
    expect(loaded.disabledBy).toBe(file)
    expect(sourceOf(loaded, 'enabled')).toEqual({ key: 'enabled', value: file === null, source: file ?? projectFile })
  })

  it('that cannot be read fail as their reader does', async () => {
    const broken = new Error('no permission')
    const read = (): string => {
      throw broken
    }
    await expect(loadConfig({ projectFile, personFile, read })).rejects.toBe(broken)
  })
})

describe('a project that is not trusted', () => {
  it('cannot pass on variables that look secret', async () => {
    expect(await problemsOf({ env: { pass: ['CI', 'API_TOKEN', 'AWS_SECRET_ACCESS_KEY'] } })).toEqual([
      `${projectFile}: env.pass has API_TOKEN, which looks secret, and this file belongs to the project; put it into your own file, or use --env API_TOKEN`,
      `${projectFile}: env.pass has AWS_SECRET_ACCESS_KEY, which looks secret, and this file belongs to the project; put it into your own file, or use --env AWS_SECRET_ACCESS_KEY`,
    ])
  })

  it('cannot pass on what the person declared to be secret, either', async () => {
    expect(await problemsOf({ env: { pass: ['INTERNAL_ID'] } }, { mask: { names: ['internal_*'] } })).toHaveLength(1)
    expect((await load({ env: { pass: ['INTERNAL_ID'] } })).settings.env.pass).toEqual(['INTERNAL_ID'])
  })

  it('is refused a secret also where other entries of its list are wrong', async () => {
    expect(await problemsOf({ env: { pass: ['bad-name', 'API_TOKEN'] } })).toHaveLength(2)
  })

  it('may name what the person passes on anyway', async () => {
    const names = { env: { pass: ['API_TOKEN'] } }
    expect((await load(names, names)).settings.env.pass).toEqual(['API_TOKEN'])
    expect((await load(undefined, names)).settings.env.pass).toEqual(['API_TOKEN'])
  })

  it('cannot take away what is masked', async () => {
    const { mask } = (await load({ mask: { names: [], patterns: [] } }, { mask: { names: ['X_*'], patterns: ['x'] } })).settings
    expect(mask).toEqual({ names: ['X_*'], patterns: [/x/] })
  })

  it('cannot raise the ceiling that the person set, only lower it', async () => {
    const ceiling = async (project: string, person?: string) =>
      sourceOf(
        await load({ limits: { maxTimeoutMs: project } }, person === undefined ? undefined : { limits: { maxTimeoutMs: person } }),
        'limits.maxTimeoutMs',
      )
    expect(await ceiling('48h', '1h')).toMatchObject({ value: '1h', source: personFile })
    expect(await ceiling('30m', '1h')).toMatchObject({ value: '30m', source: projectFile })
    expect(await ceiling('48h')).toMatchObject({ value: '2d', source: projectFile })
  })

  it('sets no time above the ceiling, and the settings say so', async () => {
    const loaded = await load({ limits: { timeoutMs: '5h', idleTimeoutMs: '2h', graceMs: '3h' } }, { limits: { maxTimeoutMs: '1h' } })
    expect(loaded.settings.limits).toMatchObject({ timeoutMs: 3_600_000, idleTimeoutMs: 3_600_000, graceMs: 3_600_000 })
    expect(sourceOf(loaded, 'limits.graceMs')).toEqual({ key: 'limits.graceMs', value: '1h', source: `${projectFile}, cut by limits.maxTimeoutMs` })
    expect(sourceOf(await load({ limits: { maxTimeoutMs: '1m' } }), 'limits.timeoutMs')).toEqual({ key: 'limits.timeoutMs', value: '1m', source: 'default' })
  })
})

describe('workspaces', () => {
  it('are where and as the person says, and made as the project says', async () => {
    const person = {
      workspaces: { root: '/data/trees', trusted: ['/srv/shared'], minFree: '1GiB', maxBytes: '50GiB', keepRescues: '90d', carry: ['a'], setup: 'make' },
    }
    const project = { workspaces: { setup: 'npm ci', carry: ['b/c'], sparse: ['src'], ports: 2, idle: '7d', passEnv: ['CI'] } }
    const { settings } = await load(project, person)
    expect(settings.workspaces).toMatchObject({
      root: '/data/trees',
      trusted: ['/srv/shared'],
      options: { setup: 'npm ci', carry: ['a', 'b/c'], sparse: ['src'], ports: 2, passEnv: ['CI'] },
      limits: { minFreeBytes: 1024 ** 3, maxBytes: 50 * 1024 ** 3, rescueMs: 90 * 86_400_000, idleMs: 7 * 86_400_000, maxWorkspaces: null },
    })
    expect((await load({ workspaces: { setup: null } }, person)).settings.workspaces.options.setup).toBeNull()
  })

  it('of a project that is not trusted go nowhere else, take no more of the disk, and get no secret', async () => {
    const own = { root: '/elsewhere', trusted: ['/'], maxBytes: 1, minFree: 0, keepRescues: '1s' }
    expect(await problemsOf({ workspaces: own })).toEqual(
      Object.keys(own).map((key) => `${projectFile}: workspaces.${key} is not for the file of a project; put it into your own file`),
    )
    const passing = { workspaces: { passEnv: ['CI', 'API_TOKEN'] } }
    expect(await problemsOf(passing)).toEqual([
      `${projectFile}: workspaces.passEnv has API_TOKEN, which looks secret, and this file belongs to the project; put it into your own file`,
    ])
    await expect(load(passing, passing)).resolves.toMatchObject({ settings: { workspaces: { options: { passEnv: ['CI', 'API_TOKEN'] } } } })
  })

  it.each([
    [{ root: 'relative' }, 'workspaces.root is "relative"; accepted: an absolute path'],
    [{ carry: ['../x'] }, 'workspaces.carry[0] is "../x"; accepted: a path inside the repository'],
    [{ sparse: 'half' }, 'workspaces.sparse is "half"; accepted: "inherit", "full", or a list of folders'],
    [{ ports: 101 }, 'workspaces.ports is 101; accepted: a whole number from 0 to 100'],
    [{ setup: '' }, 'workspaces.setup is ""; accepted: a script for bash, or null'],
    [{ remote: '-x' }, 'workspaces.remote is "-x"; accepted: the name of a remote'],
    [{ lfs: 'yes' }, 'workspaces.lfs is "yes"; accepted: auto, pointers, pull'],
  ])('with %j are refused', async (workspaces, sentence) => {
    expect(await problemsOf(undefined, { workspaces })).toEqual([expect.stringContaining(sentence)])
  })
})

describe('secrets in a file', () => {
  it.each([projectFile, personFile])('are refused in env.set of %s', async (path) => {
    const file = { env: { set: { API_TOKEN: 'x' } } }
    const problems = await (path === projectFile ? problemsOf(file) : problemsOf(undefined, file))
    expect(problems).toEqual([`${path}: env.set.API_TOKEN would be a secret in a file; pass it by name instead ("env": { "pass": ["API_TOKEN"] })`])
  })

  it('are not shown as settings in force, but are in force', async () => {
    const address = `postgres://me:${['hunter', '2'].join('')}@db/x`
    const loaded = await load({ env: { set: { DATABASE_URL: address, INTERNAL_ID: 'abc' } }, mask: { names: ['INTERNAL_*'] } })
    expect(sourceOf(loaded, 'env.set.DATABASE_URL')?.value).toBe('postgres://me:[masked]@db/x')
    expect(sourceOf(loaded, 'env.set.INTERNAL_ID')?.value).toBe('[masked]')
    expect(loaded.settings.env.set.DATABASE_URL).toBe(address)
  })
})

describe('the person’s file', () => {
  it.each([
    [{}, '/home/me/.config/holdfast/holdfast.json'],
    [{ XDG_CONFIG_HOME: '/etc/me' }, '/etc/me/holdfast/holdfast.json'],
    [{ XDG_CONFIG_HOME: '' }, '/home/me/.config/holdfast/holdfast.json'],
    [{ XDG_CONFIG_HOME: 'relative' }, '/home/me/.config/holdfast/holdfast.json'],
  ])('with %j is %s', (env, path) => {
    expect(personConfigPath(env, '/home/me')).toBe(path)
  })
})
