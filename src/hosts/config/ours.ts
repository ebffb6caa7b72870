import { type HostName, hostOf } from '../host.ts'

/** How a person would know that something was put there by Holdfast: by the program that it starts, and what it asks of it. */

const isHoldfast = (word: string): boolean => /holdfast/i.test(word.slice(-maxWordLength))
const maxWordLength = 4_096

/** What is said behind `mcp`; undefined where these words do not start our server. */
export function serverOptions(words: readonly string[]): readonly string[] | undefined {
  const at = words.indexOf('mcp')
  return at > 0 && words.slice(0, at).some(isHoldfast) ? words.slice(at + 1) : undefined
}

/** Whether a command line of a shell asks our hook command for this host. */
export function isHookCommand(command: unknown, host: HostName): boolean {
  if (typeof command !== 'string' || command.length > maxWordLength) return false
  const words = command.split(/\s+/)
  const at = words.findIndex((word, place) => word === 'hook' && hostOf(words[place + 1] ?? '') === host)
  return at > 0 && words.slice(0, at).some(isHoldfast)
}

/** Whether a plugin file is one that we made. */
export const isOurSource = (text: string): boolean => /^\/\/ Holdfast for [^\n]{1,40}\. Made by "holdfast install /.test(text)
