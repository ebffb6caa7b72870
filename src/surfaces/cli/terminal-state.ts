/** What sequences have changed of a terminal, and what undoes it. */
export interface TerminalState {
  /** Takes note of a whole sequence. */
  see(sequence: string): void
  /** What leads back to how a terminal begins; empty where that is how it is. */
  undo(): string
}

/** Private modes that a terminal begins with: lines wrap, the cursor is seen. */
const modesAtFirst = new Set([7, 25])

/** What is not a mode: what turns it on, what turns it off again, what is sent to turn it off. */
const others: readonly (readonly [on: RegExp, off: RegExp, undo: string])[] = [
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: the control characters are what these patterns are about
  [/^\u001b\[[\d;:]*m$/, /^\u001b\[(?:0*;)*0*m$/, '\u001b[0m'],
  [/^\u001b\[\d+ q$/, /^\u001b\[0 q$/, '\u001b[0 q'],
  [/^\u001b=$/, /^\u001b>$/, '\u001b>'],
  [/^\u001b\([^B]$/, /^\u001b\(B$/, '\u001b(B'],
  [/^\u000e$/, /^\u000f$/, '\u000f'],
  [/^\u001b\[>4;[1-9]\d*m$/, /^\u001b\[>(?:4(?:;0*)?)?m$/, '\u001b[>4m'],
  // Setting the margins moves the cursor.
  [/^\u001b\[[\d;]+r$/, /^\u001b\[r$/, '\u001b7\u001b[r\u001b8'],
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: the control characters are what these patterns are about
]

export function terminalState(): TerminalState {
  const modes = new Map<number, boolean>()
  const changed = new Set<string>()
  /** How often the way in which keys are told was put on a stack (the protocol of kitty). */
  let keyModes = 0

  function seeModes(numbers: string, isOn: boolean): void {
    for (const mode of numbers.split(';').map(Number)) {
      modes.delete(mode)
      if (isOn !== modesAtFirst.has(mode)) modes.set(mode, isOn)
    }
  }

  return {
    see(sequence) {
      if (sequence === '\u001bc') {
        modes.clear()
        changed.clear()
        keyModes = 0
        return
      }
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
      const [, sign, numbers = '', final] = /^\u001b\[([?<>])([\d;]*)([hlu])$/.exec(sequence) ?? []
      if (sign === '?' && final !== undefined && final !== 'u') seeModes(numbers, final === 'h')
      else if (final === 'u' && sign === '>') keyModes += 1
      else if (final === 'u' && sign === '<') keyModes = Math.max(0, keyModes - (Number.parseInt(numbers, 10) || 1))
      for (const [on, off, undo] of others) {
        if (off.test(sequence)) changed.delete(undo)
        else if (on.test(sequence)) changed.add(undo)
      }
    },
    undo() {
      const back = [...modes].reverse().map(([mode, isOn]) => `\u001b[?${mode}${isOn ? 'l' : 'h'}`)
      return [...(keyModes > 0 ? [`\u001b[<${keyModes}u`] : []), ...changed, ...back].join('')
    },
  }
}
