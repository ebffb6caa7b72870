import { describe, expect, it } from 'vitest'
import { renderScreen, type ScreenSource } from './screen.ts'

const limits = { maxMs: 8_000, maxChars: 64 * 1024 * 1024 }
const size = { rows: 24, columns: 80 }

async function shown(output: string | ScreenSource, given = size): Promise<string | undefined> {
  return renderScreen(typeof output === 'string' ? [Buffer.from(output)] : output, given, limits)
}

const esc = '\u001b'

describe('what stands on a screen', () => {
  it.each([
    ['plain lines as they are', 'one\r\n\r\n  two\r\n', 'one\n\n  two\n'],
    [
      'no colours, titles, links and clipboard',
      `${esc}[1;31mred${esc}[0m ${esc}]0;title\u0007${esc}]8;;http://x\u0007link${esc}]8;;\u0007${esc}]52;c;eHk=\u0007\r\n`,
      'red link\n',
    ],
    ['a line that was begun anew once', '10 %\r50 %\r100 %\r\ndone\r\n', '100 %\ndone\n'],
    ['what a shorter frame left of a longer one only where it was not erased', `loading modules\r${esc}[Kok\r\n`, 'ok\n'],
    [
      'lines that were drawn again by going up once',
      `a 1\r\nb 1\r\n${esc}[2A${esc}[2Ka 2\r\n${esc}[2Kb 2\r\n${esc}[2A${esc}[2Ka 3\r\n${esc}[2Kb 3\r\n`,
      'a 3\nb 3\n',
    ],
    ['what was typed and taken back by what came instead', 'passwort\b \bd\r\n', 'password\n'],
    ['nothing of what a clear erased', `old\r\n${esc}[H${esc}[2J${esc}[3Jnew\r\n`, 'new\n'],
    ['tabs as the columns that they reach', 'a\tb\r\n', 'a       b\n'],
    ['a prompt without a line end', 'Password: ', 'Password: \n'],
    ['no blank lines behind the last one with something on it', 'x\r\n\r\n\r\n', 'x\n'],
    ['nothing where nothing was printed', '', ''],
    ['a broken sequence at the end as nothing', `x${esc}[?104`, 'x\n'],
  ])('has %s', async (_, output, text) => {
    expect(await shown(output)).toBe(text)
  })

  it('has characters of all scripts, and marks for bytes that are none', async () => {
    expect(await shown([Buffer.from('日本 é 🙂\r\n'), Buffer.from([0xe9, 0x0d, 0x0a])])).toBe('日本 é 🙂\n\ufffd\n')
  })

  it('joins what only the width of the terminal broke, also between characters of two columns', async () => {
    const words = 'word '.repeat(50).trim()
    expect(await shown(`${words}\r\n${'漢'.repeat(50)}\r\n`, { rows: 4, columns: 21 })).toBe(`${words}\n${'漢'.repeat(50)}\n`)
  })

  it('keeps every line that scrolled out at the top', async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i}`)
    expect(await shown(`${lines.join('\r\n')}\r\n`)).toBe(`${lines.join('\n')}\n`)
  })

  it('keeps a line of a megabyte whole', async () => {
    const line = 'x'.repeat(1_000_000)
    expect(await shown(`before\r\n${line}\r\nafter\r\n`)).toBe(`before\n${line}\nafter\n`)
  })

  it('is the same however the bytes were read', async () => {
    const output = Buffer.from(`ä1\r\n${esc}[?1049h${esc}[Hfull screen ü${esc}[?25;1049lafter\r\n${esc}[1A${esc}[2K漢字\r\n${'z'.repeat(100)}\r\n`)
    const whole = await shown([output])
    for (const step of [1, 2, 3, 7]) {
      const parts = Array.from({ length: Math.ceil(output.length / step) }, (_, i) => output.subarray(i * step, (i + 1) * step))
      expect(await shown(parts)).toBe(whole)
    }
    expect(whole).toBe(`ä1\nfull screen ü\n漢字\n${'z'.repeat(100)}\n`)
  })
})

describe('a full-screen program', () => {
  const draw = (text: string): string => `${esc}[H${esc}[2J${text}`

  it('leaves its last screen where it was called', async () => {
    const output = `$ less file\r\n${esc}[?1049h${draw('page one')}${draw('page two\r\n\r\n  end')}${esc}[?1049l$ echo on\r\non\r\n`
    expect(await shown(output)).toBe('$ less file\npage two\n\n  end\n$ echo on\non\n')
  })

  it('leaves its last screen also when it was ended from outside', async () => {
    expect(await shown(`$ top\r\n${esc}[?1049h${draw('load 1')}${draw('load 2')}`)).toBe('$ top\nload 2\n')
  })

  it('is in its place also when much scrolls by before and after', async () => {
    const many = (word: string): string => Array.from({ length: 5_000 }, (_, i) => `${word} ${i}\r\n`).join('')
    const text = (await shown(`${many('a')}${esc}7${esc}[?47h${draw('screen')}${esc}[?47l${esc}8${many('b')}`)) ?? ''
    const lines = text.split('\n')
    expect(lines.length).toBe(10_002)
    expect(lines.slice(4_999, 5_002)).toEqual(['a 4999', 'screen', 'b 0'])
  })

  it('that is called again and again at one place is there once', async () => {
    const session = `${esc}[?1049h${draw('menu')}${esc}[?1049l`
    expect(await shown(`start\r\n${session.repeat(50)}end\r\n`)).toBe('start\nmenu\nend\n')
  })
})

describe('a reset', () => {
  it('keeps what had scrolled out, and begins with an empty screen', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `l${i}`)
    const text = (await shown(`${lines.join('\r\n')}\r\n${esc}cnew\r\n`, { rows: 10, columns: 80 })) ?? ''
    expect(text.split('\n')).toEqual([...lines.slice(0, 91), 'new', ''])
  })
})

describe('its bounds', () => {
  it('says where the log left something out', async () => {
    expect(await shown([Buffer.from(`head${esc}[3`), 12_345, Buffer.from('tail\r\n')])).toBe('head\n[holdfast: 12,345 bytes left out]\ntail\n')
  })

  it.each(['@', 'I', 'L', 'M', 'P', 'S', 'T', 'X', 'Z', 'b', 'A', 'B', 'C', 'D', 'G', 'H', 'd'])(
    'is not kept busy by a count of two thousand millions before %s',
    async (final) => {
      const startedAt = performance.now()
      const text = await shown(`x${`${esc}[2147483647${final}`.repeat(50)}\r\nend\r\n`)
      expect(text).toContain('end\n')
      expect(performance.now() - startedAt).toBeLessThan(2_000)
    },
  )

  it('gives up when the text grows larger, or the work takes longer, than allowed', async () => {
    const many = Buffer.from('0123456789\r\n'.repeat(10_000))
    expect(await renderScreen([many], size, { maxMs: 8_000, maxChars: 1_000 })).toBeUndefined()
    expect(await renderScreen([many, many, many], size, { maxMs: 1, maxChars: 10_000_000 })).toBeUndefined()
  })

  it('takes any bytes', async () => {
    let seed = 7
    const next = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
      return seed >> 8
    }
    const sequences = [
      `${esc}[`,
      `${esc}]`,
      `${esc}P`,
      `${esc}(0`,
      `${esc}7`,
      `${esc}8`,
      `${esc}[?1049h`,
      `${esc}[?1049l`,
      `${esc}c`,
      `${esc}[5;9r`,
      `${esc}M`,
      `${esc}[2J`,
    ]
    for (let round = 0; round < 40; round += 1) {
      const parts = Array.from({ length: 400 }, () =>
        next() % 3 === 0 ? Buffer.from(sequences[next() % sequences.length] as string) : Buffer.from(Array.from({ length: next() % 9 }, () => next() % 256)),
      )
      expect(typeof (await shown([Buffer.concat(parts)], { rows: 1 + (next() % 30), columns: 2 + (next() % 100) }))).toBe('string')
    }
  })
})
