import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const conflict = /^(?:Rebasing \(\d{1,6}\/\d{1,6}\) ?)?CONFLICT \([\w/ -]{1,60}\): \S/
const rejected = /^ ! \[(?:remote )?(?:rejected|failure|no match)\] /
const fatal = /^fatal: (?!\[)\S/
const refused =
  /^error: (?:Your local changes|The following untracked|Pulling is not possible|[Cc]ommitting is not possible|[Mm]erging is not possible|pathspec '|src refspec |could not (?:apply|restore|lock|revert|write)|[Cc]annot |patch failed: |corrupt patch |unable to |update_ref|RPC failed|remote (?:unpack|ref)|failed to push some refs|object file |bad |the requested upstream|branch '|No such remote|.{1,400}: patch does not apply$)/
const unmerged = /^\t(?:both (?:modified|added|deleted)|(?:added|deleted) by (?:us|them)): {1,12}\S/
const outcome =
  /^(?:Automatic merge failed|Could not apply |Merge with strategy|Aborting$|The stash entry is kept|Already up to date|Updating [\da-f]{4,40}\.\.|Merge made by|Everything up-to-date|You have unmerged paths|Successfully rebased| \d{1,9} files? changed, )|^ {1,3}[ +*-]? ?(?:\[new (?:branch|tag)\]|[\da-f]{4,40}\.{2,3}[\da-f]{4,40}) {1,12}\S{1,300} {1,20}-> \S/
// Every program may say `fatal:`; these are words of git.
const ownFatal =
  /^fatal: (?:not a git repository|unable to access '|(?:[Rr]epository|remote|destination path|pathspec|bad|invalid|ambiguous|unrecognized argument|No configured|The current branch|The upstream branch|Not possible to fast-forward|[Nn]eed to specify|refusing to|[Cc]ouldn't find remote|[Cc]ould not read|Authentication failed|Unable to create '.{0,400}\.lock|detected dubious|unsafe repository|early EOF|[Tt]he remote end hung up|index-pack|fetch-pack|protocol error|clone of|Remote branch|You have not concluded|You are not currently|a branch named|empty ident|your current branch|loose object|no upstream|Exiting because of)\b|'.{1,300}' (?:already exists|does not appear|is not a))/
// What says nothing of our failure.
const chatter =
  /^(?:Auto-merging |On branch |Your branch |Cloning into |Preparing worktree )|^remote: (?:Enumerating|Counting|Compressing|Total|Resolving|Writing|Receiving|Finding|Reusing|\s*$)/
const maxRemote = 6

/** Git: merges, rebases, pushes, clones, and what it refuses. */
export const git: Recogniser = {
  name: 'git',
  signs: new RegExp(
    [conflict, rejected, ownFatal, refused, /^You have unmerged paths\.$/, /^To \S{0,300}[/@]\S{1,300}$/].map(({ source }) => source).join('|'),
  ),
  open: openGit,
}

function openGit(): Reader {
  const all = gathering('git', 'error')
  let current: OpenFailure | undefined
  let said: LogLine[] = []
  let previous: LogLine | undefined

  function begin(line: LogLine, title: string): void {
    current = all.failure(line, title, placeIn(title))
    for (const earlier of said) current.detail(earlier, ranks.message)
    said = []
  }

  function failure(line: LogLine): boolean {
    const { text } = line
    if (conflict.test(text)) begin(line, text.replace(/^Rebasing \S+ ?/, ''))
    else if (rejected.test(text) || unmerged.test(text)) begin(line, text.trim())
    else if (current && /^error: failed to push some refs/.test(text)) current.detail(line, ranks.other)
    else if (fatal.test(text) || refused.test(text)) {
      // What ssh or a helper said stands before what git makes of it.
      if (/^fatal: Could not read from remote|^error: could not restore/.test(text) && previous && !chatter.test(previous.text)) said.push(previous)
      begin(line, text.replace(/^(?:fatal|error): /, ''))
    } else return false
    return true
  }

  function other(line: LogLine): void {
    const { text } = line
    if (chatter.test(text)) return
    if (text.startsWith('remote: ')) said = [...said.slice(1 - maxRemote), line]
    else if (outcome.test(text)) all.total(line)
    else if (current && /^hint: \S|^\t\S/.test(text)) current.detail(line, text.startsWith('\t') ? ranks.message : ranks.other)
    else if (current && /^\S/.test(text) && previous?.text !== '') current.detail(line, ranks.other)
    else current = undefined
  }

  return {
    line(line) {
      if (!failure(line)) other(line)
      previous = line
    },
    end: () => all.result({ errors: all.failures || undefined }),
  }
}
