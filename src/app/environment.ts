import { failure } from '../core/errors.ts'

/** Names that every command gets from the environment of Holdfast, where they are set there. */
const passed = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'USER', 'LOGNAME', 'SHELL'] as const

const fallbackPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export interface EnvironmentRequest {
  /** The environment of Holdfast itself. */
  readonly own: Readonly<Record<string, string | undefined>>
  /** Names to pass on from it, and values to set, by the configuration and by the caller; later ones win. */
  readonly pass: readonly string[]
  readonly set: Readonly<Record<string, string>>
  readonly mark: { readonly name: string; readonly id: string }
  /** Whether the command has a pseudo-terminal, and with it somebody who answers what it asks. */
  readonly terminal?: 'none' | 'unattended' | 'attended' | undefined
  /** Variables of the place that it runs at, if that is not this machine: they stand in the place of ours. */
  readonly site?: Readonly<Record<string, string>> | undefined
  /** Stands in the place of all that is passed on from Holdfast: nothing but this, and what is set, reaches the command. */
  readonly sandbox?: Readonly<Record<string, string>> | undefined
}

/**
 * The whole environment of a command, built from empty, so that no secret of ours reaches it unasked. What is set by the
 * caller wins over everything of ours.
 */
export function composeEnvironment({ own: outer, pass: named, set, mark, terminal = 'none', sandbox, site }: EnvironmentRequest): Record<string, string> {
  const env: Record<string, string> = { PATH: fallbackPath, ...sandbox, ...site }
  const own = sandbox ? { TERM: outer.TERM } : outer
  const pass = sandbox ? [] : named
  const copy = (name: string): void => {
    const value = own[name]
    if (value !== undefined) env[name] = value
  }
  if (!site) {
    for (const name of passed) copy(name)
    for (const name of Object.keys(own)) if (name.startsWith('LC_')) copy(name)
  }
  Object.assign(env, { TERM: terminal === 'none' ? 'dumb' : typeOf(own.TERM) })
  if (terminal !== 'none') copy('COLORTERM')
  if (terminal === 'attended') for (const name of attended) copy(name)
  else Object.assign(env, nobodyAnswers)
  for (const name of pass) {
    checkName('passEnv', name)
    copy(name)
  }
  for (const [name, value] of Object.entries(set)) {
    checkName('env', name)
    if (typeof value !== 'string' || value.includes('\0')) throw failure('invalid', { field: `env ${name}`, value, accepted: 'text without NUL' })
    env[name] = value
  }
  if (terminal !== 'attended' && set.GIT_CONFIG_COUNT === undefined && !pass.includes('GIT_CONFIG_COUNT')) {
    Object.assign(env, gitSettings(sandbox ? [...editors, ...noHelpers] : editors))
  }
  // A command that runs Holdfast again must still be found by the outer run.
  const above = outer[mark.name]
  env[mark.name] = above && /^[\w/-]{1,1000}$/.test(above) ? `${above}/${mark.id}` : mark.id
  return env
}

function checkName(field: string, name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw failure('invalid', { field, value: name, accepted: 'a name of letters, digits and _, not beginning with a digit' })
}

const refuseEditor =
  'sh -c \'echo "holdfast: no editor can be opened here; give the text as an argument (git commit -m TEXT), or set GIT_EDITOR or EDITOR" >&2; exit 1\' no-editor'

/** What a person chose to look at and edit things with. */
const attended = ['PAGER', 'EDITOR', 'VISUAL'] as const

/** The terminal that we stand in is the one that shows it, if anything does; else what makes the text of it is like xterm. */
const typeOf = (own: string | undefined): string => (own === undefined || own === '' || own === 'dumb' ? 'xterm-256color' : own)

/** There is nobody to answer: what would wait for a person ends at once instead. */
const nobodyAnswers: Readonly<Record<string, string>> = {
  PAGER: 'cat',
  EDITOR: refuseEditor,
  GIT_TERMINAL_PROMPT: '0',
  // Empty means none: neither core.askPass nor SSH_ASKPASS is asked then (git, prompt.c).
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
}

// Settings by variables outrank the files of git and are outranked by `git -c` and GIT_EDITOR (git-config(1), GIT_CONFIG_COUNT), so
// an editor of the person's configuration is not opened, while one that the command names itself is.
const editors: readonly (readonly [string, string])[] = [
  ['core.editor', 'f() { eval "${VISUAL:-$EDITOR} \\"\\$@\\""; }; f'],
  ['sequence.editor', 'f() { eval "$(git var GIT_EDITOR) \\"\\$@\\""; }; f'],
]

/** An empty value ends the list of those that the files of git name (git-config(1), credential.helper). */
const noHelpers: readonly (readonly [string, string])[] = [['credential.helper', '']]

const gitSettings = (settings: readonly (readonly [string, string])[]): Readonly<Record<string, string>> =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key, value], i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, value],
    ]),
  ])
