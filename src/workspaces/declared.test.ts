import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { declaredVariables, declareVariables, forgetVariables } from './declared.ts'

it('names of variables are added for one workspace and end with it; what cannot be understood names none', async () => {
  await using world = openWorld()
  const root = world.path('root')
  declareVariables(root, '0123456789', ['CI'])
  declareVariables(root, '0123456789', ['TOKEN', 'CI'])
  expect([declaredVariables(root, '0123456789'), declaredVariables(root, '9876543210')]).toEqual([['CI', 'TOKEN'], []])
  forgetVariables(root, '0123456789')
  expect(declaredVariables(root, '0123456789')).toEqual([])
  mkdirSync(`${root}/.declared`, { recursive: true })
  writeFileSync(`${root}/.declared/0123456789.json`, '{"TOKEN":1}')
  expect(declaredVariables(root, '0123456789')).toEqual([])
})
