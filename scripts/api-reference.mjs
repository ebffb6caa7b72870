// Writes docs/api.md, the reference of the library, from the docstrings of what src/index.ts exports. With --check nothing is written:
// ends with 1, and says so, where the page is another one.
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const page = join(root, 'docs', 'api.md')
const table = 'table'
const intro = `# Library

Every name that \`import … from 'holdfast'\` has, from the docstrings of the sources (\`npm run docs\` makes this page anew). [The README](../README.md#for-a-program)
has a beginning to copy. Times are in milliseconds and sizes in bytes of UTF-8, as the names say; whatever rejects does so with a \`HoldfastError\`.
`

const folder = await mkdtemp(join(tmpdir(), 'holdfast-api-'))
try {
  const app = await Application.bootstrapWithPlugins({
    name: 'Library',
    entryPoints: [join(root, 'src', 'index.ts')],
    tsconfig: join(root, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown'],
    out: folder,
    router: 'module',
    readme: 'none',
    // Types are checked by the check of the whole.
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    parametersFormat: table,
    interfacePropertiesFormat: table,
    propertiesFormat: table,
    typeDeclarationFormat: table,
    tableColumnSettings: { hideInherited: true, hideDefaults: true, hideOverrides: true, hideSources: true },
    logLevel: 'Error',
  })
  const project = await app.convert()
  if (!project) process.exit(1)
  await app.generateOutputs(project)
  const made = readFileSync(join(folder, 'README.md'), 'utf8')
    .replace(/^# .*\n/, intro)
    .replace(/ +$/gm, '')
  const there = readIfThere(page)
  if (process.argv.includes('--check')) {
    if (made !== there) console.error('docs/api.md is not what the docstrings say; npm run docs makes it anew')
    process.exitCode = made === there ? 0 : 1
  } else if (made !== there) writeFileSync(page, made)
} finally {
  await rm(folder, { recursive: true, force: true })
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
