import { expect, it } from 'vitest'
import { asVariables, commandAt, guarded, readsFiles } from './settings.ts'

it('the command is found behind settings, and what protects it stands before the words of the caller', () => {
  expect(commandAt(['-c', 'status=fetch', '--no-pager', 'fetch', 'x'])).toBe(3)
  expect(guarded(['-c', 'a.b=c', 'fetch', '--end-of-options', 'origin'])).toEqual([
    '-c',
    'a.b=c',
    'fetch',
    '--upload-pack=git-upload-pack',
    '--end-of-options',
    'origin',
  ])
  expect(guarded(['diff', '--', 'a'])).toEqual(['diff', '--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty', '--', 'a'])
  expect(guarded(['status', '--ignore-submodules=all'])).toEqual(['status', '--ignore-submodules=all'])
  expect(guarded(['log', '-p'])).toEqual(['log', '--no-ext-diff', '--no-textconv', '-p'])
  expect(guarded(['update-ref', 'a', 'b'])).toEqual(['update-ref', 'a', 'b'])
})

it('only commands that neither look at files nor write an index go without a look at the filters', () => {
  expect(
    [
      ['rev-parse', 'HEAD'],
      ['cat-file', '-p', 'x'],
      ['-c', 'a.b=c', 'fetch'],
    ].map(readsFiles),
  ).toEqual([false, false, false])
  expect([['write-tree'], ['cat-file', '--filters', 'x'], ['worktree', 'add'], ['unheard-of'], []].map(readsFiles)).toEqual([true, true, true, true, true])
})

it('settings are handed on as variables, whatever is in their names', () => {
  expect(asVariables([])).toEqual({})
  expect(asVariables([['filter.a=b.clean', '']])).toEqual({ GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'filter.a=b.clean', GIT_CONFIG_VALUE_0: '' })
})
