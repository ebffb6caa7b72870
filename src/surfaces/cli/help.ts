import { type Command, groups } from './command.ts'
import { hanging, wrap } from './width.ts'

const columns = 80
const jsonLine = ['--json', 'Print one JSON object.'] as const
const helpLine = ['-h, --help', 'Print this help.'] as const

/** The help of all commands. */
export function generalHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.words.length)) + 2
  const blocks = groups.map((group) => {
    const lines = commands.filter((command) => command.group === group).map((command) => entry(command.words.padEnd(width), command.summary))
    return `${group}:\n${lines.join('\n')}`
  })
  return `Holdfast runs commands, keeps every byte they print, answers in a digest, and
finds it again.

Usage: holdfast COMMAND [options]

${blocks.join('\n\n')}

Every command takes --help, and all but acp, hook and mcp take --json; holdfast
--version says which one this is. RUN is a run id, a unique beginning of one, or
"last". Times are written like 30s, 5m or 1500ms, sizes like 10MB.

Examples:
  holdfast exec -- npm test
  holdfast search 'connection refused' --failing
  holdfast help exec
`
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const usage = command.usage.map((line, i) => `${i === 0 ? 'Usage: ' : '       '}holdfast ${line}`)
  const options = [
    ...command.options.map((option) => [nameOf(option), option.about + (option.default === undefined ? '' : ` Default: ${option.default}.`)] as const),
    ...(command.withoutJson ? [] : [jsonLine]),
    helpLine,
  ]
  const width = Math.min(26, Math.max(...options.map(([name]) => name.length)) + 2)
  const lines = options.map(([name, about]) => (name.length + 2 > width ? `  ${name}\n${entry(' '.repeat(width), about)}` : entry(name.padEnd(width), about)))
  return [
    usage.join('\n'),
    [command.summary, ...command.details].map((text) => wrap(text, columns).join('\n')).join('\n\n'),
    `Options:\n${lines.join('\n')}`,
    `Examples:\n${command.examples.map((example) => `  ${example}`).join('\n')}\n`,
  ].join('\n\n')
}

/** The help of the commands that begin with a word, such as note. */
export function familyHelp(word: string, commands: readonly Command[]): string {
  return commands.map(commandHelp).join(`\n${'-'.repeat(word.length * 2)}\n\n`)
}

const nameOf = (option: Command['options'][number]): string =>
  [option.short ? `-${option.short}, ${option.flag}` : option.flag, option.valueIsOptional ? `[=${option.value}]` : option.value]
    .filter(Boolean)
    .join(option.valueIsOptional ? '' : ' ')

const entry = (name: string, text: string): string => hanging(`  ${name}`, text, columns)
