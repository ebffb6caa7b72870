import { expect, it } from 'vitest'
import type { Shown } from '../core/stats.ts'
import { openShownCounter } from './shown.ts'

const answered = { surface: 'mcp', operation: 'exec', run: 'a', bytes: 10 } as const
const day = 20_000

it('answers of one kind are written down together, with their day', async () => {
  const written: (readonly Shown[])[] = []
  const counter = openShownCounter(
    async (entries) => void written.push(entries),
    () => day * 86_400_000 + 5,
  )
  for (const run of ['a', 'b', 'a']) counter.count({ ...answered, run })
  await counter.close()
  const entry = { surface: 'mcp', operation: 'exec', day }
  expect(written).toEqual([
    [
      { ...entry, run: 'a', calls: 2, bytes: 20 },
      { ...entry, run: 'b', calls: 1, bytes: 10 },
    ],
  ])
  await counter.close()
  expect(written).toHaveLength(1)
})

it('what cannot be written down hurts nobody', async () => {
  const counter = openShownCounter(
    () => Promise.reject(new Error('locked')),
    () => 0,
  )
  counter.count(answered)
  await expect(counter.close()).resolves.toBeUndefined()
})
