import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { git } from './git.ts'

describe('the recogniser for git', () => {
  it.each<[string, object, string[]]>([
    ['git-apply', { errors: 2 }, ['1 patch failed: src/list.txt:1 @ src/list.txt:1 | -', '2 src/list.txt: patch does not apply @ - | -']],
    [
      'git-badrev',
      { errors: 1 },
      ["1 ambiguous argument 'nothere': unknown revision or path not in the working tree. @ - | Use '--' to separate paths from revisions, like this:"],
    ],
    ['git-clone', { errors: 1 }, ["2 unable to access 'https://git.invalid/x/y.git/': Could not resolve host: git.invalid @ - | -"]],
    ['git-hook', { errors: 1 }, ['3 ! [remote rejected] main -> main (pre-receive hook declined) @ - | remote: policy: commit message needs a ticket']],
    ['git-lock', { errors: 1 }, ["1 Unable to create '/srv/app/.git/index.lock': File exists. @ - | -"]],
    [
      'git-merge',
      { errors: 4 },
      [
        '1 CONFLICT (modify/delete): gone.md deleted in HEAD and modified in feature.  Version feature of gone.md left in tree. @ - | -',
        '3 CONFLICT (add/add): Merge conflict in new.txt @ - | -',
        '5 CONFLICT (content): Merge conflict in notes.md @ - | -',
        '7 CONFLICT (content): Merge conflict in src/list.txt @ - | -',
      ],
    ],
    ['git-norepo', { errors: 1 }, ['1 not a git repository (or any of the parent directories): .git @ - | -']],
    ['git-overwrite', { errors: 1 }, ['1 Your local changes to the following files would be overwritten by checkout: @ - | notes.md']],
    ['git-push', { errors: 1 }, ["2 ! [rejected]        main -> main (fetch first) @ - | error: failed to push some refs to '/srv/git/app.git'"]],
    ['git-pushok', {}, []],
    [
      'git-rebase',
      { errors: 5 },
      [
        '1 CONFLICT (modify/delete): gone.md deleted in HEAD and modified in 14df711 (change list).  Version 14df711 (change list) of gone.md left in tree. @ - | -',
        '3 CONFLICT (add/add): Merge conflict in new.txt @ - | -',
        '5 CONFLICT (content): Merge conflict in notes.md @ - | -',
        '7 CONFLICT (content): Merge conflict in src/list.txt @ - | -',
        '8 could not apply 14df711... change list @ - | hint: Resolve all conflicts manually, mark them as resolved with',
      ],
    ],
    ['git-ssh', { errors: 1 }, ['3 Could not read from remote repository. @ - | ssh: connect to host 127.0.0.1 port 1: Connection refused']],
    ['git-stashpop', { errors: 1 }, ['2 could not restore untracked files from stash @ - | p.diff already exists, no checkout']],
    [
      'git-status',
      { errors: 4 },
      [
        '11 deleted by us:   gone.md @ - | -',
        '12 both added:      new.txt @ - | -',
        '13 both modified:   notes.md @ - | -',
        '14 both modified:   src/list.txt @ - | -',
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(git, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('tells what the server, ssh or a file said before git gave up', () => {
    const details = (name: string) => recogniseWith(git, sample(name))?.failures[0]?.details.map(({ text }) => text.trim())
    expect(details('git-hook')?.[0]).toBe('remote: policy: commit message needs a ticket')
    expect(details('git-ssh')?.[0]).toBe('ssh: connect to host 127.0.0.1 port 1: Connection refused')
    expect(details('git-stashpop')?.[0]).toBe('p.diff already exists, no checkout')
  })

  it('has the outcome of a merge and of a push', () => {
    const totals = (name: string) => recogniseWith(git, sample(name))?.totals.map(({ text }) => text.trim())
    expect(totals('git-merge')).toEqual(['Automatic merge failed; fix conflicts and then commit the result.'])
    expect(totals('git-pushok')).toEqual(['d96108b..982f3a0  main -> main'])
  })

  it.each(['fatal: [web1]: FAILED! => {"msg": "no route"}', 'fatal: the engine stopped', 'To fix:', 'error: something else'])('sees no git in %s', (line) => {
    expect(git.signs.test(line)).toBe(false)
  })
})
