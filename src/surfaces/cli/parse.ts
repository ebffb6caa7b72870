import { closest } from '../../core/closest.ts'
import { failure } from '../../core/errors.ts'
import type { Command } from './command.ts'
import type { Given, Option } from './option.ts'

export interface Parsed extends Given {
  readonly help: boolean
  readonly json: boolean
  /** A program with its arguments, where the command takes one. */
  readonly argv: readonly string[] | undefined
}

/**
 * Reads the arguments that follow a command's name. Options may stand anywhere before `--`; where the command takes a
 * program, everything from the first word that is no option belongs to it. Throws `unknown_option` or `invalid`.
 */
export function parseArguments(command: Command, args: readonly string[]): Parsed {
  const given: Given = { input: {}, own: {} }
  const words: string[] = []
  let help = false
  let json = false
  let argv: readonly string[] | undefined
  const options = optionsByFlag(command)
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string
    if (arg === '--') {
      const rest = args.slice(i + 1)
      if (command.takesProgram) argv = rest
      else words.push(...rest)
      break
    }
    if (!arg.startsWith('-') || arg === '-') {
      if (command.takesProgram) {
        argv = args.slice(i)
        break
      }
      words.push(arg)
      continue
    }
    const equals = arg.startsWith('--') ? arg.indexOf('=') : -1
    const flag = equals === -1 ? arg : arg.slice(0, equals)
    if (flag === '--help' || flag === '-h') help = true
    else if (flag === '--json' && !command.withoutJson) json = true
    else {
      const option = options.get(flag)
      if (!option) {
        const known = [...options.keys(), ...(command.withoutJson ? [] : ['--json']), '--help']
        throw failure('unknown_option', { option: flag, command: command.words, suggestion: closest(flag, known), help: `holdfast ${command.words} --help` })
      }
      if (option.valueIsOptional && equals === -1) option.read(given, '')
      else if (option.value === undefined) {
        if (equals !== -1) throw failure('invalid', { field: flag, value: arg.slice(equals + 1), accepted: `${flag} without a value` })
        option.read(given, '')
      } else if (equals !== -1) option.read(given, arg.slice(equals + 1))
      else {
        i += 1
        if (i >= args.length) throw failure('invalid', { field: `the value of ${flag}`, value: undefined, accepted: `${flag} ${option.value}` })
        option.read(given, args[i] as string)
      }
    }
  }
  takePositionals(command, given, words)
  return { ...given, help, json, argv }
}

/** Whether `--json` is among the options, for a refusal that comes before they are parsed. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
}

function optionsByFlag(command: Command): Map<string, Option> {
  const options = new Map<string, Option>()
  for (const option of command.options) {
    options.set(option.flag, option)
    if (option.short !== undefined) options.set(`-${option.short}`, option)
  }
  return options
}

function takePositionals(command: Command, given: Given, words: readonly string[]): void {
  const { positionals: names = [] } = command
  const most = names.length
  if (words.length > most && (most === 0 || !command.joined)) {
    throw failure('invalid', { field: 'the argument', value: words[most], accepted: `holdfast ${command.usage[0]}` })
  }
  const target = command.positionalsAreOwn ? given.own : given.input
  for (const [i, name] of names.entries()) {
    const text = i === most - 1 ? words.slice(i).join(' ') : words[i]
    if (i < words.length && text !== undefined) target[name] = text
  }
}
