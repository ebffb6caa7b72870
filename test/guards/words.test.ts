import { posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { listSources, listTrackedFiles, type Source } from './sources.ts'

const emptyNames = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'manager', 'base', 'types']

/** Names of files and folders that say nothing about what is in them. */
function emptyNamesIn(path: string): string[] {
  return path
    .split('/')
    .map((part) => part.replace(/(\.test)?\.\w+$/, ''))
    .filter((part) => emptyNames.includes(part) || part.split('-').some((word) => word === 'utils' || word === 'helpers' || word === 'manager'))
}

function isKebabCase(path: string): boolean {
  return /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/.test(posix.basename(path))
}

/** A public name becomes public on purpose, under one name: no default exports, no `export *`. */
function looseExportsIn({ path, text }: Source): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  for (const statement of file.statements) {
    if (ts.isExportAssignment(statement)) found.push(`${path}: default export`)
    if (ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword))
      found.push(`${path}: default export`)
    if (ts.isExportDeclaration(statement) && !(statement.exportClause && ts.isNamedExports(statement.exportClause))) found.push(`${path}: export *`)
  }
  return found
}

// What ties a file to the machine or the network it was written on. In parts, so that this file does not hold it itself.
const machinePaths = [['', 'work', ''].join('/'), ['', 'root', ''].join('/')]
const foreignPatterns: readonly (readonly [string, RegExp])[] = [
  ['a path of the machine it was written on', new RegExp(`(?<![\\w.$}~)-])(?:${machinePaths.join('|')})`)],
  ['the address of a package registry', new RegExp(['registry', 'npmjs'].join('\\.'))],
  ['a private key', new RegExp(['-----BEGIN', '[A-Z ]*PRIVATE KEY-----'].join(' '))],
]

function foreignIn({ path, text }: Source): string[] {
  return foreignPatterns.flatMap(([what, pattern]) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} has ${what}`] : [])),
  )
}

describe('names', () => {
  it('of source files and folders say what is in them', () => {
    expect(listSources().flatMap(({ path }) => emptyNamesIn(path).map((name) => `${path}: ${name}`))).toEqual([])
    expect(emptyNamesIn('src/common/git-utils.ts')).toEqual(['common', 'git-utils'])
  })

  it('of source files are in kebab case', () => {
    const names = listSources().map(({ path }) => path)
    expect(names.filter((path) => !isKebabCase(path))).toEqual([])
    expect(isKebabCase('src/core/StreamName.ts')).toBe(false)
  })
})

describe('exports', () => {
  it('are named one by one', () => {
    expect(listSources().flatMap(looseExportsIn)).toEqual([])
  })

  it.each(['export default 1', 'export default function f() {}', "export * from './a.ts'", "export * as a from './a.ts'"])(
    'of the form "%s" are found',
    (text) => {
      expect(looseExportsIn({ path: 'src/made-up.ts', text })).toHaveLength(1)
    },
  )
})

describe('files of the repository', () => {
  it('are tied to no machine and hold no key', () => {
    expect(listTrackedFiles().flatMap(foreignIn)).toEqual([])
  })

  it.each([...machinePaths.map((path) => `cd ${path}project`), ['https://registry', 'npmjs', 'org'].join('.')])('are found when they hold %s', (text) => {
    expect(foreignIn({ path: 'made-up.md', text })).toHaveLength(1)
  })
})
