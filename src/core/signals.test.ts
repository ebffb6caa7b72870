import { constants } from 'node:os'
import { expect, it } from 'vitest'
import { linuxSignals } from './signals.ts'

it.skipIf(process.platform !== 'linux')('signals have the numbers that the system has, and none is missing', () => {
  const { SIGUNUSED: _, ...known } = constants.signals as Record<string, number>
  expect(linuxSignals).toEqual(known)
})
