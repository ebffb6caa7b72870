import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { composeEnvironment } from './environment.ts'

const mark = { name: 'HOLDFAST_RUN', id: 'abc' }
const compose = (own: Record<string, string>, rest: { pass?: string[]; set?: Record<string, string> } = {}) =>
  composeEnvironment({ own, pass: rest.pass ?? [], set: rest.set ?? {}, mark })

describe('composeEnvironment', () => {
  it('passes on what every program needs and nothing else', () => {
    const env = compose({
      PATH: '/bin',
      HOME: '/home/me',
      LC_TIME: 'C',
      LANG: 'C',
      NODE_OPTIONS: '--x',
      API_KEY: 'k',
      GIT_DIR: '/x',
      LD_PRELOAD: 'x',
      BASH_ENV: 'x',
    })
    expect(env).toMatchObject({ PATH: '/bin', HOME: '/home/me', LC_TIME: 'C', LANG: 'C', TERM: 'dumb' })
    for (const name of ['NODE_OPTIONS', 'API_KEY', 'GIT_DIR', 'LD_PRELOAD', 'BASH_ENV']) expect(env).not.toHaveProperty(name)
  })

  it('names a terminal where there is one, and leaves pagers, editors and prompts to whoever answers there', () => {
    const own = { TERM: 'tmux-256color', COLORTERM: 'truecolor', EDITOR: 'vim', PAGER: 'less -R' }
    const terminal = (kind: 'none' | 'unattended' | 'attended', given: Record<string, string> = own) =>
      composeEnvironment({ own: given, pass: [], set: {}, mark, terminal: kind })
    expect(terminal('none')).toMatchObject({ TERM: 'dumb', PAGER: 'cat' })
    expect(terminal('none')).not.toHaveProperty('COLORTERM')
    expect(terminal('unattended')).toMatchObject({ TERM: 'tmux-256color', COLORTERM: 'truecolor', PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' })
    expect(terminal('attended')).toMatchObject({ TERM: 'tmux-256color', EDITOR: 'vim', PAGER: 'less -R' })
    for (const name of ['GIT_TERMINAL_PROMPT', 'GIT_ASKPASS', 'GIT_CONFIG_COUNT']) expect(terminal('attended')).not.toHaveProperty(name)
    for (const TERM of ['dumb', '']) expect(terminal('attended', { TERM })).toMatchObject({ TERM: 'xterm-256color' })
  })

  it('has a PATH even where Holdfast has none', () => {
    expect(compose({}).PATH).toContain('/usr/bin')
  })

  it('passes on what is named and lets values of the caller win over everything', () => {
    expect(compose({ API_KEY: 'k', A: 'own' }, { pass: ['API_KEY', 'A', 'UNSET'], set: { A: 'given', PAGER: 'less' } })).toMatchObject({
      API_KEY: 'k',
      A: 'given',
      PAGER: 'less',
    })
    expect(compose({}, { pass: ['UNSET'] })).not.toHaveProperty('UNSET')
  })

  it.each([['1A'], ['A-B'], ['A=B'], ['']])('refuses %j as the name of a variable', (name) => {
    expect(() => compose({}, { pass: [name] })).toThrow(/^passEnv is /)
    expect(() => compose({}, { set: { [name]: 'x' } })).toThrow(/^env is /)
  })

  it('marks nested runs so that the outer one still finds them', () => {
    expect(compose({}).HOLDFAST_RUN).toBe('abc')
    expect(compose({ HOLDFAST_RUN: 'outer' }).HOLDFAST_RUN).toBe('outer/abc')
    expect(compose({ HOLDFAST_RUN: 'not\nours' }).HOLDFAST_RUN).toBe('abc')
  })

  it('leaves the settings of git to a caller that brings its own', () => {
    expect(compose({}, { set: { GIT_CONFIG_COUNT: '0' } })).toMatchObject({ GIT_CONFIG_COUNT: '0' })
    expect(compose({}, { set: { GIT_CONFIG_COUNT: '0' } })).not.toHaveProperty('GIT_CONFIG_KEY_0')
  })

  const editorOf = (env: Record<string, string>, ...flags: string[]) =>
    execFileSync('bash', ['-c', `eval "$(git ${flags.join(' ')} var GIT_EDITOR) /dev/null"; echo "status $?"`], {
      env: { ...env, HOME: '/nonexistent' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()

  it('refuses an editor, and uses one that the command names', () => {
    const env = compose({ PATH: process.env.PATH ?? '' })
    expect(editorOf(env)).toBe('status 1')
    expect(editorOf({ ...env, EDITOR: 'echo edited' })).toBe('edited /dev/null\nstatus 0')
    expect(editorOf({ ...env, GIT_EDITOR: 'echo git-editor' })).toBe('git-editor /dev/null\nstatus 0')
    expect(editorOf(env, '-c', "core.editor='echo configured'")).toBe('configured /dev/null\nstatus 0')
  })
})
