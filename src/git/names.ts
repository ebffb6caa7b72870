import { failure } from '../core/errors.ts'

/** A branch as git keeps it. `name` is one that `checkBranch` let pass. */
export const branchRef = (name: string): string => `refs/heads/${name}`

// A part of a name is a file's name, and git adds `.lock` to it; file systems take 255 bytes.
const maxPartBytes = 200
// The whole is part of the path of a file; systems take 4096 bytes (macOS: 1024), and the folder of the repository stands before it.
const maxBytes = 600

/**
 * Refuses (`invalid_branch`) what git does not take for `refs/heads/<name>`, and of the rest what could be read as an option, as
 * another ref or as more than one line. Pure.
 */
export function checkBranch(name: string): void {
  const why = faultOf(name)
  if (why !== undefined) throw failure('invalid_branch', { branch: name, why })
}

/** What is wrong with the name of a branch, to go on after "which"; undefined where nothing is. */
function faultOf(name: string): string | undefined {
  if (name === '') return 'which is empty'
  if (name.startsWith('-')) return 'which could be read as an option'
  if (name === 'HEAD' || name === '@') return 'which git reads as the commit that is checked out'
  if (/^refs\//i.test(name)) return 'which is a full ref; the branch is what stands after refs/heads/'
  return faultOfGit(name) ?? faultOfSize(name)
}

/** The rules of git-check-ref-format(1) for what stands after `refs/heads/`, and our own for what cannot be seen. */
function faultOfGit(name: string): string | undefined {
  if (/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(name)) return 'which holds characters that cannot be seen'
  if (/\p{Cs}/u.test(name)) return 'which is not text'
  const forbidden = /[ ~^:?*[\\]/.exec(name)
  if (forbidden) return `which holds ${JSON.stringify(forbidden[0])}`
  if (name.includes('..') || name.includes('@{')) return 'which holds ".." or "@{"'
  if (name.endsWith('.')) return 'which ends in a dot'
  const parts = name.split('/')
  if (parts.includes('')) return 'which has an empty part'
  if (parts.some((part) => part.startsWith('.'))) return 'which has a part that begins with a dot'
  if (parts.some((part) => part.endsWith('.lock'))) return 'which has a part that ends in .lock'
  return undefined
}

function faultOfSize(name: string): string | undefined {
  if (name.split('/').some((part) => Buffer.byteLength(part) > maxPartBytes)) return `which has a part of more than ${maxPartBytes} bytes`
  return Buffer.byteLength(name) > maxBytes ? `which has more than ${maxBytes} bytes` : undefined
}
