import { describe, expect, it } from 'vitest'
import { emptyTotals, type RunRecord } from '../core/run.ts'
import type { Note } from '../core/store.ts'
import { buildSnapshot, type SnapshotSources } from './snapshot.ts'

const now = new Date('2026-01-02T03:04:05.678Z')

function run(id: string, change: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    state: 'ended',
    command: 'npm test',
    runtime: null,
    purpose: null,
    cwd: '/project',
    branch: 'main',
    startedAt: now.toISOString(),
    endedAt: now.toISOString(),
    durationMs: 1200,
    outcome: { kind: 'exited', exitCode: 0, signal: null, limit: null },
    error: null,
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    warnings: [],
    holder: { pid: 1, startTime: '' },
    process: null,
    pinned: false,
    ...change,
  }
}

const note = (text: string, confidence = 0.5): Note => ({ id: text.slice(0, 4), category: 'gotcha', text, confidence, createdAt: now.toISOString() })

function sources(change: Partial<SnapshotSources> = {}): SnapshotSources {
  return { now, root: '/project', branch: 'main', context: null, notes: [], runs: [], running: [], ...change }
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** A small generator with a seed, so that a failure can be repeated. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const alphabet = [
  'a',
  'Z',
  ' ',
  '\n',
  '\r',
  '\t',
  '# Heading',
  '\n## Recent runs\n',
  '你',
  '日本',
  '👩‍💻',
  '🔥',
  'é',
  '\u2028',
  '\u0085',
  '\u001b[31m',
  '\0',
  '- ',
  '\ud800',
  'ß',
]

function scramble(next: () => number, most: number): string {
  return Array.from({ length: Math.floor(next() * most) }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')
}

function scrambledSources(next: () => number): SnapshotSources {
  const count = (most: number): number[] => Array.from({ length: Math.floor(next() * most) }, (_, i) => i)
  return sources({
    root: scramble(next, 40),
    branch: next() < 0.3 ? null : scramble(next, 20),
    context: next() < 0.2 ? null : scramble(next, 400),
    notes: count(20).map(() => note(scramble(next, 120), next())),
    runs: count(20).map((i) =>
      run(`run${i}`, { command: scramble(next, 100), purpose: scramble(next, 50), outcome: { kind: 'exited', exitCode: i % 3, signal: null, limit: null } }),
    ),
    running: count(4).map((i) => run(`live${i}`, { state: 'running', outcome: null, command: scramble(next, 60) })),
  })
}

describe('buildSnapshot', () => {
  it('has at most the bytes that are allowed, its final line feed included, for every input and every limit', () => {
    const next = generator(7)
    for (let round = 0; round < 60; round += 1) {
      const input = scrambledSources(next)
      for (let limit = 0; limit <= 2200; limit += 1 + Math.floor(next() * 60)) {
        const text = buildSnapshot(input, limit)
        const bytes = Buffer.byteLength(text)
        expect(bytes).toBeLessThanOrEqual(limit)
        if (limit > 0) expect(text.endsWith('\n')).toBe(true)
      }
    }
  })

  it('cannot be given a heading, a control character or half of a character by the texts of others', () => {
    const next = generator(11)
    const headings = new Set(['## Active context', '## Running commands', '## Recent runs', '## Notes'])
    for (let round = 0; round < 200; round += 1) {
      const text = buildSnapshot(scrambledSources(next), 2048)
      const lines = text.slice(0, -1).split('\n')
      const seen = lines.filter((line) => line.startsWith('## '))
      expect(new Set(seen).size).toBe(seen.length)
      for (const line of lines.slice(1)) expect(headings.has(line) || /^(?:- |> |No runs)/.test(line), JSON.stringify(line)).toBe(true)
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/)
    }
  })

  it('never cuts inside a character', () => {
    const input = sources({ context: '👩‍💻你🔥é'.repeat(200), notes: [note('🔥'.repeat(300))] })
    for (let limit = 0; limit <= 2048; limit += 1) expect(buildSnapshot(input, limit)).not.toMatch(loneSurrogate)
  })

  it('puts failures first and names how they ended', () => {
    const text = buildSnapshot(
      sources({
        runs: [
          run('good00000000'),
          run('killed000000', { outcome: { kind: 'signaled', exitCode: 137, signal: 'SIGKILL', limit: null } }),
          run('slow00000000', { outcome: { kind: 'timed_out', exitCode: null, signal: null, limit: 'idle' } }),
          run('lost00000000', { state: 'interrupted', outcome: { kind: 'lost', exitCode: null, signal: null, limit: null } }),
        ],
      }),
      2048,
    )
    const order = ['killed000000 signal SIGKILL', 'slow00000000 timed out (idle)', 'lost00000000 interrupted', 'good00000000 exit 0'].map((part) =>
      text.indexOf(part),
    )
    expect(order.every((at) => at > 0)).toBe(true)
    expect([...order].sort((a, b) => a - b)).toEqual(order)
  })

  it('keeps room for every section when one of them has more to say than fits', () => {
    const text = buildSnapshot(
      sources({
        context: 'a long story\n'.repeat(500),
        notes: Array.from({ length: 40 }, (_, i) => note(`a fact of some length, number ${i}`)),
        runs: Array.from({ length: 40 }, (_, i) => run(`run${String(i).padStart(9, '0')}`)),
        running: [run('live00000000', { state: 'running', outcome: null, command: 'npm run dev' })],
      }),
      2048,
    )
    for (const heading of ['## Active context', '## Running commands', '## Recent runs', '## Notes']) expect(text).toContain(`${heading}\n`)
    expect(text).toContain('live00000000 npm run dev')
    expect(text).toMatch(/- \(\d+ more\)/)
    expect(Buffer.byteLength(text)).toBeGreaterThan(1700)
  })

  it('says so when there is nothing', () => {
    expect(buildSnapshot(sources(), 2048)).toBe('# Context snapshot 2026-01-02T03:04:05.678Z /project (main)\nNo runs and no notes yet.\n')
  })
})
