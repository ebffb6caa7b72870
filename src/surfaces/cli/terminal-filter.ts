/**
 * Passes a command's text on to a terminal without the sequences that reach beyond the screen: titles, clipboard,
 * device strings (OSC, DCS, SOS, PM, APC). Colours and cursor movements stay. Sequences may be split across chunks.
 */
export function terminalFilter(): (text: string) => string {
  // What the text before was in: plain text, just after an escape, inside a string, or just after an escape inside one.
  let state: 'text' | 'escape' | 'string' | 'string-escape' = 'text'
  return (text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
    if (state === 'text' && !/[\u001b\u0090\u0098\u009d-\u009f]/.test(text)) return text
    let out = ''
    for (const character of text) {
      if (state === 'text') {
        if (character === '\u001b') state = 'escape'
        else if (isStringStart(character)) state = 'string'
        else out += character
      } else if (state === 'escape') {
        if (character === '\u001b') continue
        state = ']PX^_'.includes(character) ? 'string' : 'text'
        if (state === 'text') out += `\u001b${character}`
      } else if (state === 'string-escape') {
        state = character === '\\' ? 'text' : 'string'
      } else if (character === '\u001b') state = 'string-escape'
      // A string that never ends must not swallow the rest; no real one goes over a line.
      else if (character === '\u0007' || character === '\u009c' || character === '\n') {
        state = 'text'
        if (character === '\n') out += character
      }
    }
    return out
  }
}

const isStringStart = (character: string): boolean => character === '\u0090' || character === '\u0098' || (character >= '\u009d' && character <= '\u009f')
