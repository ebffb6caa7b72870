import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { listSources, repository } from './sources.ts'

const page = readFileSync(new URL('docs/architecture.md', repository), 'utf8')
const documented = [...page.matchAll(/^\| `(src\/[^`]*)`/gm)].map(([, path = '']) => path)

it('docs/architecture.md has a row for every folder that holds sources', () => {
  const folders = new Set(listSources().map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)))
  folders.delete('src/')
  expect([...folders].filter((folder) => !documented.some((row) => row === folder || (row.endsWith('/') && folder.startsWith(row))))).toEqual([])
})

it('docs/architecture.md names no file or folder of src/ that does not exist', () => {
  expect(documented.length).toBeGreaterThan(10)
  expect(documented.filter((path) => !existsSync(new URL(path, repository)))).toEqual([])
})

it('every link between the pages of docs/ and the pages of the root leads to a file', () => {
  const pages = [
    ...readdirSync(new URL('.', repository)),
    ...readdirSync(new URL('docs', repository), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
  ]
  const broken = pages
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => {
      const from = new URL(path, repository)
      const links = [...readFileSync(from, 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
      return links.filter((target) => !/^[a-z]+:/.test(target) && !existsSync(new URL(target, from))).map((target) => `${path}: ${target}`)
    })
  expect(broken).toEqual([])
})
