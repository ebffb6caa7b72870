import { afterAll, beforeAll, describe, it } from 'vitest'
import { buildFaultyHoldfast, type FaultyHoldfast } from '../support/faulty-holdfast.ts'
import { hasProgram } from '../support/has-program.ts'
import { type Random, random } from '../support/random.ts'
import { type FaultyPlace, openFaultyPlace } from './faulty-place.ts'

const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)
const rounds = Number(process.env.HOLDFAST_FAULT_ROUNDS ?? 3)
const roundMs = 60_000

/**
 * Declares a test for each case: so many rounds, each in a place of its own, with numbers that differ from round to round and are
 * the same for the same seed.
 */
export function describeFaults<T extends { readonly when: string }>(
  title: string,
  cases: readonly T[],
  body: (place: FaultyPlace, fault: T, random: Random) => Promise<void>,
): void {
  const hasCompiler = hasProgram('gcc', title)
  if (hasCompiler) console.info(`${title}: HOLDFAST_SEED=${seed}`)
  describe.skipIf(!hasCompiler)(title, () => {
    let holdfast: FaultyHoldfast | undefined
    beforeAll(() => {
      holdfast = buildFaultyHoldfast()
    }, 600_000)
    afterAll(() => holdfast?.[Symbol.dispose]())
    for (const fault of cases) {
      it.concurrent(
        fault.when,
        async () => {
          for (let round = 1; round <= rounds; round += 1) {
            const numbers = random(hash(`${seed} ${fault.when} ${round}`))
            await using place = openFaultyPlace(holdfast as FaultyHoldfast, numbers)
            await body(place, fault, numbers).catch((error: unknown) => {
              throw Object.assign(error as Error, { message: `HOLDFAST_SEED=${seed}, round ${round}: ${(error as Error).message}` })
            })
          }
        },
        rounds * roundMs,
      )
    }
  })
}

function hash(text: string): number {
  let value = 2_166_136_261
  for (const letter of text) value = Math.imul(value ^ letter.charCodeAt(0), 16_777_619)
  return value >>> 0
}
