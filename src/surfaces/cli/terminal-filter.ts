import { terminalState } from './terminal-state.ts'

/** A command's text on its way to a terminal. */
export interface TerminalFilter {
  pass(text: string): string
  /** Undoes what of the text would outlast the command: a hidden cursor, colours, another screen. Empty where there is nothing. */
  restore(): string
}

/** No real sequence is longer. */
const longestSequence = 128
const controlStart = '\u009b'

/**
 * Passes text on without the sequences that reach beyond the screen: titles, clipboard, device strings (OSC, DCS, SOS, PM,
 * APC). Colours and cursor movements stay. What asks the terminal for an answer stays only where somebody reads that
 * (`isAnswered`): a shell would take it for what is typed. Sequences may be split across chunks.
 */
export function terminalFilter({ isAnswered = false }: { readonly isAnswered?: boolean } = {}): TerminalFilter {
  // What the text before was in: plain text, just after an escape, in a sequence, in a string, or just after an escape there.
  let within: 'text' | 'escape' | 'sequence' | 'string' | 'string-escape' = 'text'
  let begun = ''
  const state = terminalState()

  function finish(sequence: string): string {
    within = 'text'
    begun = ''
    if (!isAnswered && asksBack.test(sequence)) return ''
    state.see(sequence)
    return sequence
  }

  function step(character: string): string {
    switch (within) {
      case 'text':
        if (character === '\u001b') within = 'escape'
        else if (character === controlStart) {
          within = 'sequence'
          begun = '\u001b['
        } else if (isStringStart(character)) within = 'string'
        else if (character !== '\u0005' || isAnswered) return character
        return ''
      case 'escape':
        if (character === '\u001b') return ''
        if (character === '[') {
          within = 'sequence'
          begun = '\u001b['
          return ''
        }
        if (']PX^_'.includes(character)) {
          within = 'string'
          return ''
        }
        begun += character
        // Between the escape and its end there may be spaces and signs: ESC ( B
        return character >= ' ' && character <= '/' && begun.length < 4 ? '' : finish(`\u001b${begun}`)
      case 'sequence':
        begun += character
        if (character >= ' ' && character <= '?' && begun.length < longestSequence) return ''
        return finish(begun)
      case 'string':
        if (character === '\u001b') within = 'string-escape'
        // A string that never ends must not swallow the rest; no real one goes over a line.
        else if (character === '\u0007' || character === '\u009c' || character === '\n') {
          within = 'text'
          return character === '\n' ? character : ''
        }
        return ''
      case 'string-escape':
        within = character === '\\' ? 'text' : 'string'
        return ''
    }
  }

  return {
    pass(text) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
      if (within === 'text' && !/[\u0005\u000e\u000f\u001b\u0090\u0098\u009b\u009d-\u009f]/.test(text)) return text
      let passed = ''
      for (const character of text) {
        if (within === 'text' && (character === '\u000e' || character === '\u000f')) state.see(character)
        passed += step(character)
      }
      return passed
    },
    restore: () => state.undo(),
  }
}

const isStringStart = (character: string): boolean => character === '\u0090' || character === '\u0098' || (character >= '\u009d' && character <= '\u009f')

// What a terminal is, where its cursor stands, what it can do, its size; see "Control Sequences" of xterm.
const asksBack =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
  /^\u001b(?:Z|\[(?:[>=?]?[\d;]*c|\??[\d;]*n|>[\d;]*q|\?[\d;]*u|\??[\d;]*\$p|(?:1[1-9]|2[01])(?:;[\d;]*)?t|[\d;]*x))$/
