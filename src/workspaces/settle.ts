import { existsSync, rmdirSync } from 'node:fs'
import { failure, hasReason } from '../core/errors.ts'
import { isBelow } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { ProviderCall } from '../core/workspace-provider.ts'
import { listTrees, type Tree, usesBranch } from '../git/admin.ts'
import { findGitAtWork } from '../git/at-work.ts'
import { branchRef } from '../git/names.ts'
import { reconcile } from '../git/publication.ts'
import { findRef } from '../git/refs.ts'
import { saveWork } from '../git/rescue.ts'
import { removeRegistration } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { type BegunTree, beginTree } from './create.ts'
import { removeHalfMade } from './half-made.ts'
import { lockReasonOf, ownerOf, readAdminCopy } from './identity.ts'
import { checkFree, mendTree } from './mend.ts'
import { findOverlay, mountAgain, removeOverlay } from './overlay.ts'
import { whatIsAt } from './placement.ts'
import { existing, type Prepared } from './prepare.ts'
import { listRecords, readRecord } from './records.ts'
import { registerAgain } from './register-again.ts'
import type { Report } from './report.ts'
import { look, registeringPath, type Situation } from './resume.ts'
import { putBack } from './trash.ts'
import type { Wanted } from './wanted.ts'

/** `again`: what was prepared is not what is needed any more. `wait`: somebody else is at work on it. */
export type Settled =
  | { readonly kind: 'resumed'; readonly record: WorkspaceRecord }
  | { readonly kind: 'begun'; readonly begun: BegunTree }
  | { readonly kind: 'again' | 'wait' }

/** What is there of a workspace, with its files mounted where they can be. */
export async function lookAt(context: WorkspaceContext, wanted: Wanted, record: WorkspaceRecord | undefined, report?: Report): Promise<Situation> {
  const { commonDir } = wanted.repository
  const path = record?.path ?? wanted.path
  const overlay = (record === undefined ? findOverlay(context, path) : record.overlay) ?? null
  // A release that was cut short may have taken the changes away already, and then there is nothing to see.
  const isWanted = overlay !== null && record?.state !== 'creating' && (record?.state !== 'releasing' || existsSync(overlay.upper))
  // Only under the lock, which whoever reports has.
  if (isWanted && report !== undefined && (await mountAgain(context, overlay, path))) report.did('mounted', `the files of ${path} are mounted again`)
  return look({ commonDir, path, root: wanted.root, record })
}

/** Whether a tree is there, so that nothing has to be prepared for a new one. */
export const hasTree = (situation: Situation, record: WorkspaceRecord | undefined): boolean =>
  record?.state !== 'creating' && ['there', 'unlinked', 'unregistered', 'foreign', 'occupied'].includes(situation.kind)

/** Brings the workspace as far as it gets with the lock of the repository, from whatever is there. */
export async function settle(context: WorkspaceContext, wanted: Wanted, prepared: Prepared | undefined, report: Report, call: ProviderCall): Promise<Settled> {
  const { repository, key } = wanted
  const record = readRecord(repository.commonDir, key)
  if (isAtWork(context, record)) return { kind: 'wait' }
  if (record?.state === 'creating') {
    if (prepared === undefined) return { kind: 'again' }
    // Whoever was at work is gone, and the git that it started may not be.
    if (findGitAtWork({ path: record.path, mark: lockReasonOf(record) }).length > 0) return { kind: 'wait' }
    await removeHalfMade(context, wanted, record)
    report.did('recreated', 'it was being made when that was cut short, and is made from the beginning')
  }
  const known = record?.state === 'creating' ? undefined : record
  if (known?.state === 'releasing') putBack(context, known)
  const situation = await lookAt(context, wanted, known, report)
  switch (situation.kind) {
    case 'there':
      return resume(context, wanted, known, situation, report)
    case 'unlinked':
      await requireOwnFiles(wanted, situation)
      return resume(context, wanted, known, { ...situation, isLinked: false }, report)
    case 'unregistered': {
      const owner = known as WorkspaceRecord
      if (findGitAtWork({ path: registeringPath(situation.path), mark: lockReasonOf(owner) }).length > 0) return { kind: 'wait' }
      return { kind: 'resumed', record: await mendTree(context, wanted, owner, await registerAgain(wanted, owner, situation.path, report), report) }
    }
    case 'foreign':
      throw failure('identity_mismatch', { path: situation.path, expected: repository.commonDir, found: situation.belongsTo })
    case 'occupied':
      throw failure('path_occupied', { path: situation.path, what: situation.what })
    case 'gone':
      return prepared === undefined ? { kind: 'again' } : replace(context, wanted, known, situation.tree, prepared, report, call)
    case 'nothing':
      return make(context, wanted, known, prepared, report, call)
  }
}

/** A release may go on for long, and so may a checkout with its submodules: neither holds the lock for all of it. Within this process opens are in a row. */
function isAtWork({ machine }: WorkspaceContext, record: WorkspaceRecord | undefined): boolean {
  if (record === undefined || record.state === 'ready' || record.holder === null) return false
  const { pid, startTime } = record.holder
  const isSelf = pid === machine.self.pid && startTime === machine.self.startTime
  return record.state === 'creating' && isSelf ? false : machine.isAlive(record.holder)
}

async function resume(
  context: WorkspaceContext,
  wanted: Wanted,
  record: WorkspaceRecord | undefined,
  found: Situation & { kind: 'there' | 'unlinked' } & { isLinked: boolean },
  report: Report,
): Promise<Settled> {
  // Where its record says, it may be outside of the root that is configured now.
  if (found.path !== record?.path && !isBelow(wanted.root, found.path)) {
    const { branch, root } = wanted
    throw branch === null
      ? failure('not_owned', { path: found.path, why: `it is not inside of ${root}` })
      : failure('branch_in_use', { branch, path: found.path })
  }
  const owner = record ?? (await adopt(context, wanted, found.tree, report))
  return { kind: 'resumed', record: await mendTree(context, wanted, owner, found, report) }
}

/** A tree in the place of this workspace that is on no record: its record was lost, or git made it here without us. */
async function adopt(context: WorkspaceContext, { repository, ...wanted }: Wanted, tree: Tree, report: Report): Promise<WorkspaceRecord> {
  const { branch, operator, options, request } = wanted
  const owner = ownerOf(tree.lockReason) ?? readAdminCopy(tree.adminDir)
  const { id = wanted.id, nonce = context.newName() } = owner ?? {}
  const sha = branch === null ? tree.commit : await findRef(repository, branchRef(branch))
  const now = context.now().toISOString()
  report.did('adopted', `the tree ${tree.path} was there, and on no record`, { sha: sha ?? null })
  return {
    ...{ version: 1, id, nonce, kind: branch === null ? 'sandbox' : 'branch', branch, operator, state: 'ready', path: tree.path, options },
    ...{ commonDir: repository.commonDir, baseName: request.base ?? branch ?? 'HEAD', base: existing(branch === null ? 'HEAD' : branchRef(branch), sha ?? '') },
    ...{ createdAt: now, usedAt: now, setup: null, ports: [], overlay: findOverlay(context, tree.path) ?? null, holder: null },
  }
}

/** The folder lost its `.git`: its files are those of the tree where at least one of them is in the index. */
async function requireOwnFiles({ repository }: Wanted, { tree, path }: Situation & { kind: 'unlinked' }): Promise<void> {
  const tracked = ['ls-files', '-z', '--cached']
  const { stdout } = await repository.git.run({ args: tracked, cwd: path, gitDir: tree.adminDir, workTree: path, reads: true })
  const names = stdout.split('\0').filter(Boolean)
  if (names.length > 0 && !names.some((name) => whatIsAt(`${path}/${name}`) !== 'nothing')) {
    throw failure('path_occupied', { path, what: 'a folder with none of the files of the tree that was there' })
  }
}

/** The folder of the tree is gone. What git still knows of it is saved, its registration is forgotten, and the tree is made anew in the same place. */
async function replace(
  context: WorkspaceContext,
  wanted: Wanted,
  record: WorkspaceRecord | undefined,
  tree: Tree,
  prepared: Prepared,
  report: Report,
  call: ProviderCall,
): Promise<Settled> {
  const { repository, branch } = wanted
  const { adminDir, path, lockReason } = tree
  if (lockReason !== null && ownerOf(lockReason) === undefined) throw failure('locked_foreign', { path, why: lockReason })
  // Everything in it was deleted, so its changes are that alone.
  if (record?.overlay) await removeOverlay(context, record.overlay, path)
  if (whatIsAt(path) === 'empty folder') rmdirSync(path)
  const workspace = record?.id ?? wanted.id
  const about = { workspace, branch, at: context.now(), name: context.newName(), known: record === undefined ? [] : [record.base.sha] }
  const rescue = await saveWork(repository.git, { path, adminDir }, about)
  if (rescue !== null)
    report.did('rescued', `${rescue.holds.join(', ')} of the tree that was there are kept as ${rescue.id}`, { ref: rescue.ref, sha: rescue.sha })
  await removeRegistration(repository, path)
  const settled = await make(context, wanted, record, prepared, report, call)
  if (settled.kind === 'begun') report.did('rematerialized', `the folder ${path} was gone, and is there again`)
  return settled
}

/** Nothing is in the way: the branch is brought up to what was published, and a tree is made. */
async function make(
  context: WorkspaceContext,
  wanted: Wanted,
  record: WorkspaceRecord | undefined,
  prepared: Prepared | undefined,
  report: Report,
  call: ProviderCall,
): Promise<Settled> {
  const { repository, branch, root } = wanted
  const { commonDir } = repository
  if (branch !== null) {
    const elsewhere = listTrees(commonDir).find((tree) => usesBranch(tree, branch))
    const owner = elsewhere && listRecords(commonDir).find((each) => each.record.path === elsewhere.path && each.key !== wanted.key)
    if (elsewhere && !elsewhere.isMain && isBelow(root, elsewhere.path) && owner === undefined && whatIsAt(elsewhere.path) === 'folder') {
      return resume(context, { ...wanted, path: elsewhere.path }, undefined, { kind: 'there', tree: elsewhere, path: elsewhere.path, isLinked: true }, report)
    }
    checkFree(wanted, undefined, () => owner?.record.id)
  }
  if (prepared === undefined) return { kind: 'again' }
  if (branch !== null && !(await isStillSo(context, wanted, branch, record, prepared, report))) return { kind: 'again' }
  try {
    const begun = await beginTree(context, wanted, { ...prepared, previous: prepared.previous && record }, report, call)
    report.did(...madeOf(wanted, begun))
    return { kind: 'begun', begun }
  } catch (error) {
    // Somebody made the branch, or moved it, without our lock.
    if (hasReason(error, 'branch_moved')) return { kind: 'again' }
    throw error
  }
}

/** Whether the branch is where it was when the tree was prepared. One that resumes is first brought to what was published of it. */
async function isStillSo(
  context: WorkspaceContext,
  { repository, request }: Wanted,
  branch: string,
  record: WorkspaceRecord | undefined,
  prepared: Prepared,
  report: Report,
): Promise<boolean> {
  const tip = await findRef(repository, branchRef(branch))
  if (prepared.cut === 'now') return tip === undefined
  if (tip !== prepared.sha) return false
  if (prepared.cut === 'before' || record !== undefined) return true
  const remote = request.remote ?? context.settings.remote ?? 'origin'
  const isFree = (): boolean => !listTrees(repository.commonDir).some((tree) => usesBranch(tree, branch))
  if ((await reconcile(repository, branch, remote, isFree)) !== 'fast-forwarded') return true
  const moved = (await findRef(repository, branchRef(branch))) ?? null
  report.did('fast-forwarded', `${branch} was behind what was published of it, and was moved from ${tip} to ${moved}`, { from: tip, sha: moved })
  return false
}

function madeOf({ branch, operator }: Wanted, { record, asked }: BegunTree): [string, string, Record<string, string>] {
  const { sha, base } = asked
  const facts = { sha, ref: base.ref, source: base.source, lock: lockReasonOf(record) }
  if (branch === null) return ['created', `the sandbox of ${operator} was made at ${base.ref}, ${sha}`, facts]
  if (asked.cut === 'no') return ['checked-out', `the branch ${branch} was there, at ${sha}, and has a tree now`, facts]
  return ['created', `the branch ${branch} was made at ${base.ref} (${base.source}), ${sha}`, facts]
}
