import { describe, expect, it } from 'vitest'
import { terminalFilter } from './terminal-filter.ts'

const esc = '\u001b'

/** What comes through, however the text is split. */
function passed(text: string, options = {}): string {
  const [whole, ...others] = [text.length, 1, 2, 3].map((step) => {
    const filter = terminalFilter(options)
    let out = ''
    for (let at = 0; at < text.length; at += step) out += filter.pass(text.slice(at, at + step))
    return out
  })
  for (const other of others) expect(other).toBe(whole)
  return whole as string
}

function restored(text: string): string {
  const filter = terminalFilter()
  filter.pass(text)
  return filter.restore()
}

describe('what comes through to a terminal', () => {
  it.each([
    ['plain text', 'a\tb\r\n'],
    ['colours', `${esc}[1;31mred${esc}[0m`],
    ['movements and erasing', `${esc}[2A${esc}[2K${esc}[H${esc}[2J${esc}M${esc}7${esc}8`],
    ['modes and other screens', `${esc}[?1049h${esc}[?25l${esc}[?2004h`],
    ['character sets', `${esc}(0lqk${esc}(B`],
    ['scripts of all kinds', '日本 🙂 é'],
  ])('are %s', (_, text) => {
    expect(passed(`${text}x`)).toBe(`${text}x`)
  })

  it.each([
    ['titles', `${esc}]0;title\u0007`],
    ['the clipboard', `${esc}]52;c;ZXZpbA==${esc}\\`],
    ['device strings', `${esc}Pq#0~${esc}\\`],
    ['the same in one byte each', '\u009d0;title\u009c\u0090q\u009c'],
  ])('are not %s', (_, text) => {
    expect(passed(`a${text}b`)).toBe('ab')
  })

  it.each(['[c', '[>0c', '[6n', '[?6n', '[5n', '[>q', '[?u', '[?2026$p', '[18t', '[14;2t', '[x', 'Z'])(
    'is ESC %s, which the terminal answers, only where the answer is read',
    (asked) => {
      expect(passed(`a${esc}${asked}b`)).toBe('ab')
      expect(passed(`a${esc}${asked}b`, { isAnswered: true })).toBe(`a${esc}${asked}b`)
    },
  )

  it.each(['[22;0t', '[>4;1m', '[1;5r', '[3 q', '[>1u'])('is ESC %s, which looks alike', (sequence) => {
    expect(passed(`a${esc}${sequence}b`)).toBe(`a${esc}${sequence}b`)
  })

  it('is what follows a string that never ends, from the next line on', () => {
    expect(passed(`a${esc}]0;title\nb`)).toBe('a\nb')
  })
})

describe('what a command leaves changed', () => {
  it.each([
    ['a hidden cursor', `${esc}[?25l`, `${esc}[?25h`],
    ['colours', `${esc}[31mred`, `${esc}[0m`],
    ['another screen, and the mouse', `${esc}[?1049h${esc}[?1000;1006h`, `${esc}[?1006l${esc}[?1000l${esc}[?1049l`],
    ['the form of the cursor', `${esc}[5 q`, `${esc}[0 q`],
    ['line drawing', `${esc}(0`, `${esc}(B`],
    ['margins', `${esc}[3;9r`, `${esc}7${esc}[r${esc}8`],
    ['the way keys are told', `${esc}[>1u${esc}=`, `${esc}[<1u${esc}>`],
  ])('is undone: %s', (_, text, undo) => {
    expect(restored(text)).toBe(undo)
  })

  it.each([
    ['nothing', 'text'],
    ['what it undid itself', `${esc}[?1049h${esc}[?25l${esc}[31m${esc}=${esc}[>1u${esc}[<u${esc}>${esc}[m${esc}[?25h${esc}[?1049l`],
    ['what a reset undid', `${esc}[?25l${esc}[31m${esc}c`],
  ])('is not there after %s', (_, text) => {
    expect(restored(text)).toBe('')
  })
})
