import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'

// As whoever installed the package asks for it.
const resolved = createRequire(import.meta.url).resolve('holdfast/conformance')

it('the package has the suite for providers of workspaces, which needs nothing but vitest', async () => {
  const { describeWorkspaceProvider } = (await import(pathToFileURL(resolved).href)) as typeof import('../conformance/workspace.ts')
  expect(describeWorkspaceProvider).toBeTypeOf('function')
  const imported = [...readFileSync(resolved, 'utf8').matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)].map(([, name]) => name)
  expect([...new Set(imported)].filter((name) => !name?.startsWith('node:'))).toEqual(['vitest'])
})

it('what is packed has all that the exports of the package name', () => {
  const { exports: named, files } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, string | { default: string }>
    files: string[]
  }
  const paths = Object.values(named).map((entry) => (typeof entry === 'string' ? entry : entry.default))
  const isPacked = (path: string): boolean =>
    path === './package.json' ||
    files.some((pattern) => path.startsWith(`./${pattern}`) || new RegExp(`^\\./${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(path))
  expect(paths.filter((path) => !isPacked(path))).toEqual([])
})
