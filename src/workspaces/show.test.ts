import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import { saveWork } from '../git/rescue.ts'
import { tell } from './events.ts'
import { showWorkspace } from './show.ts'

it('everything about a workspace: how it stands, what it was made with, what was saved of it and what happened to it', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, record, commonDir, key } = makeWorkspace(world, context, repository, 'a')
  const other = makeWorkspace(world, context, repository, 'b')
  for (const each of [path, other.path]) writeFileSync(join(each, 'untracked'), 'x')
  for (const { path: at, record: of } of [{ path, record }, other]) {
    const place = { path: at, adminDir: world.sh(at, 'rev-parse', '--absolute-git-dir') }
    await saveWork(world.git, place, { workspace: of.id, branch: of.branch, at: new Date(), name: 'n0n0n0n0n0n0' })
  }
  const event = { at: '2026-01-01T00:00:00.000Z', workspace: record.id, name: 'created', durationMs: 1, facts: { sha: record.base.sha } }
  tell(commonDir, key, event)
  const shown = await showWorkspace(context, 'a')
  expect(shown).toMatchObject({
    ...{ id: record.id, branch: 'a', state: 'ready', ahead: 0, behind: 0, options: record.options, events: [event] },
    dirty: { staged: 0, changed: 0, untracked: 1, conflicted: 0 },
    rescues: [{ workspace: record.id, branch: 'a', holds: ['1 untracked file'] }],
  })
  expect(shown.rescues).toHaveLength(1)
  expect(shown.bytes).toBeGreaterThan(0)
})
