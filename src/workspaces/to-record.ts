import { isAbsolute, resolve } from 'node:path'
import { featureModes, setupStates, type WorkspaceRecord, workspaceKinds, workspaceStates } from '../core/workspace.ts'
import { keyOf } from './layout.ts'

/**
 * A record as it was read, checked in full: whoever works in a tree of the repository can write to the folder of the records, and what
 * stands in one becomes parts of paths and arguments of git, and decides in which environment commands run.
 */

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isTime: Check = (value) => isText(value) && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value as string) && !Number.isNaN(Date.parse(value as string))
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    isText(value) && pattern.test(value as string)
const oneOf =
  (accepted: readonly unknown[]): Check =>
  (value) =>
    accepted.includes(value)
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const shape =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === 'object' && value !== null && Object.entries(checks).every(([name, check]) => check((value as Record<string, unknown>)[name]))

/** As it is written, without parts that lead up. */
const isPath: Check = (value) => isText(value) && isAbsolute(value as string) && resolve(value as string) === value && !(value as string).includes('\0')

const isHolder = shape({ pid: isCount, startTime: isText })

const isWhole = shape({
  version: oneOf([1]),
  id: matches(/^[0-9a-f]{10}$/),
  kind: oneOf(workspaceKinds),
  branch: orNull(matches(/^[^\p{Cc}]+$/u)),
  operator: orNull(matches(/^[^\p{Cc}]+$/u)),
  state: oneOf(workspaceStates),
  path: isPath,
  commonDir: isPath,
  // Part of the names of folders.
  nonce: matches(/^[A-Za-z0-9-]+$/),
  baseName: isText,
  base: shape({
    source: oneOf(['remote', 'local', 'existing']),
    ref: isText,
    // Handed to git, which would take another text for an option.
    sha: matches(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/),
    behind: orNull(isCount),
    remoteError: orNull(isText),
  }),
  options: shape({
    copyOnWrite: oneOf([true, false]),
    setup: orNull(isText),
    lfs: oneOf(featureModes.lfs),
    submodules: oneOf(featureModes.submodules),
    sparse: (value) => value === 'inherit' || value === 'full' || listOf(isText)(value),
    carry: listOf(isText),
    ports: isCount,
    passEnv: listOf(matches(/^[A-Za-z_][A-Za-z0-9_]*$/)),
  }),
  createdAt: isTime,
  usedAt: isTime,
  setup: orNull(
    shape({
      command: isText,
      state: oneOf(setupStates),
      attempt: isCount,
      run: orNull(matches(/^[A-Za-z0-9-]+$/)),
      ended: orNull(isText),
      holder: orNull(isHolder),
      inputs: (value) => value === undefined || isText(value),
    }),
  ),
  ports: listOf((port) => isCount(port) && (port as number) > 0 && (port as number) < 65_536),
  overlay: orNull(shape({ lower: listOf(isPath), upper: isPath, work: isPath })),
  holder: orNull(isHolder),
})

/** Undefined where it is not whole, or not the one that belongs under its key: a sandbox that is said to be none would have the credentials of the person. */
export function toRecord(value: unknown, key: string): WorkspaceRecord | undefined {
  if (!isWhole(value)) return undefined
  const record = value as WorkspaceRecord
  const { kind, branch, operator } = record
  const name =
    kind === 'branch' && branch !== null && operator === null
      ? { branch }
      : kind === 'sandbox' && operator !== null && branch === null
        ? { operator }
        : undefined
  return name !== undefined && keyOf(name) === key ? record : undefined
}
