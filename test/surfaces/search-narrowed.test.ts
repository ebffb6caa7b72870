import { execFileSync } from 'node:child_process'
import { describe, expect } from 'vitest'
import type { DoctorResult, SearchResult } from '../../src/app/api.ts'
import { testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(120_000)

describe('a search', () => {
  inPlace('looks only where it is told: in a workspace, in runs since a time, for so many hits', async ({ world, holdfast, cli }) => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env: world.env })
    git('init', '--quiet', '--initial-branch=main')
    git('commit', '--quiet', '--allow-empty', '-m', 'first')
    const { id: workspace } = await holdfast.openWorkspace({ branch: 'work' })
    const there = await holdfast.exec({ workspace: 'work', script: 'echo a quetzal; echo another quetzal' })
    const here = await holdfast.exec({ argv: ['echo', 'one more quetzal'] })
    const runs = async (...flags: string[]): Promise<string[]> => {
      const { hits } = (await cli(['search', '--json', ...flags, 'quetzal'])).json<SearchResult>()
      return [...new Set(hits.filter(({ line }) => line !== null).map(({ run }) => run))].sort()
    }
    expect(await runs()).toEqual([there.id, here.id].sort())
    expect(await runs('--workspace', 'work')).toEqual([there.id])
    expect(await runs('--workspace', workspace)).toEqual([there.id])
    expect(await runs('--since', '1h')).toEqual([there.id, here.id].sort())
    expect(await runs('--since', '2999-01-01')).toEqual([])
    const few = (await cli(['search', '--json', '--limit', '1', 'quetzal'])).json<SearchResult>()
    expect([few.hits.length, few.more]).toEqual([1, true])
  })

  inPlace('is slower without ripgrep, and doctor says so', async ({ cli }) => {
    const rowOf = async (env: Record<string, string>) =>
      (await cli(['doctor', '--json'], { env })).json<DoctorResult>().checks.find(({ name }) => name === 'search')
    expect(await rowOf({})).toMatchObject({ status: 'ok', detail: 'long logs are looked through with ripgrep' })
    expect(await rowOf({ HOLDFAST_RIPGREP: 'never' })).toMatchObject({ status: 'warning', detail: expect.stringContaining('takes longer') })
  })
})
