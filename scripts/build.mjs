// Bundles src/ into dist/ and compiles native/ to dist/native/. Flags: --types also emits declarations; --prune also deletes
// chunks of earlier builds; --release also compiles for every processor that a package serves, and fails where one is missing
// (HOLDFAST_PACK_PARTIAL=1 packs without it).
//
// A start that runs meanwhile, or a second build, never sees a half-written dist: chunks are named by their content and are
// put in place first, then each entry replaces its predecessor by one rename. Chunks of earlier builds stay for a while,
// because a server that was started from them may load one late.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { leanMcpSdk } from './lean-mcp-sdk.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')
const keepChunksMs = 7 * 24 * 3_600_000
const flags = new Set(process.argv.slice(2))
const startedAt = performance.now()

// The program is CommonJS, because node takes about 4 ms longer to start the smallest ES module. The library is an ES module,
// and keeps its names for the stack traces of those who use it.
const outputs = [
  { name: 'cli', entry: 'src/surfaces/cli/main.ts', extension: '.js', minify: true, finish: toCommonJs },
  { name: 'index', entry: 'src/index.ts', extension: '.mjs', minify: false, finish: withRequire },
  // For those who make a provider of workspaces of their own; its tests run in their vitest.
  { name: 'conformance', entry: 'test/conformance/workspace.ts', extension: '.mjs', minify: false, finish: withRequire },
]

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const sourcesAt = newestChange(['src', 'native', 'scripts', 'package.json', 'package-lock.json'].map((name) => join(root, name)))
const present = outputs.filter(({ entry }) => existsSync(join(root, entry)))
for (const { name, entry } of outputs) if (!existsSync(join(root, entry))) say(`${name}: skipped, there is no ${entry}`)

const supervisors = buildSupervisors()
const bundles = await Promise.all(present.map(bundle)).catch(() => process.exit(1))
const files = bundles.flatMap(({ files }) => files)
const chunks = files.filter(({ path }) => dirname(path) !== dist)
place(join(dist, 'package.json'), '{ "type": "commonjs" }\n')
for (const { path, text } of [...chunks, ...files.filter((file) => !chunks.includes(file))]) place(path, text)
if (existsSync(join(dist, 'cli.js'))) chmodSync(join(dist, 'cli.js'), 0o755)
makeCodeCache()
removeOldChunks(new Set(chunks.flatMap(({ path }) => [path, `${path}.${process.version}.cache`])))
if (flags.has('--types')) {
  emitTypes()
  place(join(dist, 'third-party-licenses.txt'), thirdPartyLicenses())
}
if (!(await supervisors)) process.exit(1)

// The launcher builds again when a source is newer than this file. It carries the time of the sources that were read, a
// little later because a time set here has less precision, so that a change made during the build counts as newer.
place(join(dist, '.built'), `${version}\n`)
const built = new Date(sourcesAt + 2)
utimesSync(join(dist, '.built'), built, built)
say(`built ${present.map(({ name, extension }) => `dist/${name}${extension}`).join(', ') || 'nothing'} in ${Math.round(performance.now() - startedAt)} ms`)

/**
 * Compiles the supervisor, side by side with the bundling. Whoever only wants to use a checkout goes without one where it cannot
 * be compiled; what is handed to others must have it. Resolves to whether the build may go on.
 */
async function buildSupervisors() {
  if (!flags.has('--release')) {
    await runScript('build-supervisor')
    return true
  }
  const partial = process.env.HOLDFAST_PACK_PARTIAL === '1'
  const built = []
  for (const target of ['x64', 'arm64']) built.push(await runScript('build-supervisor', '--target', target, ...(partial ? [] : ['--required'])))
  if (!partial && built.includes(false)) say('a package needs the supervisor for every processor it serves; HOLDFAST_PACK_PARTIAL=1 packs without')
  return partial || !built.includes(false)
}

/** Resolves to whether the script of this folder succeeded. */
function runScript(name, ...args) {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', [join(root, 'scripts', name), ...args], { stdio: ['ignore', 2, 2] })
    child.on('error', () => resolve(false))
    child.on('close', (code) => resolve(code === 0))
  })
}

/** Bundles one entry with its chunks; gives the files as text. */
async function bundle({ name, entry, extension, minify, finish }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { [name]: entry },
    outdir: dist,
    outExtension: { '.js': extension },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minify,
    legalComments: 'none',
    external: ['@libsql/*', 'vitest'],
    // What it names as its main file asks for its parts in a way that a bundler does not see.
    alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') },
    plugins: [quickLibsql(), leanMcpSdk()],
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  const files = await Promise.all(outputFiles.map(async ({ path, text }) => ({ path, text: await finish(text.replace(/^#!.*\n/, ''), path) })))
  return { metafile, files: finish === toCommonJs ? packed(files, metafile) : files }
}

/** Chunks exist in ES modules only, so the finished files are turned into CommonJS one by one. */
async function toCommonJs(text, path) {
  const { code } = await transform(text, {
    sourcefile: path,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minify: true,
    // A dynamic import becomes a late require, which does not need the loader of ES modules.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': '__url' },
    logLevel: 'warning',
  })
  const url = /\b__url\b/.test(code) ? 'const __url=require("node:url").pathToFileURL(__filename).href;' : ''
  return `${path === join(dist, 'cli.js') ? '#!/usr/bin/env node\n' : ''}${url}${code}`
}

/**
 * Puts the chunks that listing runs loads, which most commands load too, into one file. Each stays a module of its own that
 * is evaluated when it is asked for, but to find and open twenty files takes longer than what is in them.
 */
function packed(files, metafile) {
  const names = new Set()
  const passed = new Set()
  const add = (output, to) => {
    if (passed.has(output)) return
    passed.add(output)
    to?.add(basename(output))
    for (const { path, kind, external } of metafile.outputs[output].imports) if (kind === 'import-statement' && !external) add(path, to)
  }
  const outputOf = (source) => Object.keys(metafile.outputs).find((output) => metafile.outputs[output].entryPoint === source)
  // What the version is answered from stays apart.
  add(outputOf('src/surfaces/cli/main.ts'))
  for (const source of [
    'src/surfaces/cli/run.ts',
    'src/surfaces/cli/runs-command.ts',
    'src/compose.ts',
    'src/surfaces/cli/hook-command.ts',
    'src/app/hooks.ts',
    'src/app/masking.ts',
  ])
    add(outputOf(source), names)

  const asking = (text, pack) =>
    text.replace(/\brequire\("\.\/(?:chunks\/)?([\w-]+\.js)"\)/g, (whole, name) => (names.has(name) ? `${pack}("${name}")` : whole))
  const isPacked = ({ path }) => names.has(basename(path))
  const modules = files.filter(isPacked).map(({ path, text }) => `"${basename(path)}":(exports,module)=>{${asking(text, '__packed')}\n}`)
  const pack = `const __made={},__modules={${modules.join(',')}};
const __packed=module.exports=name=>{if(__made[name])return __made[name].exports;const made=__made[name]={exports:{}};__modules[name](made.exports,made);return made.exports}\n`
  const file = `pack-${createHash('sha256').update(pack).digest('hex').slice(0, 8).toUpperCase()}.js`
  const others = files.filter((other) => !isPacked(other))
  const from = (path) => (dirname(path) === dist ? `__quick("./chunks/${file}")` : `require("./${file}")`)
  return [{ path: join(dist, 'chunks', file), text: pack }, ...others.map(({ path, text }) => ({ path, text: withCodeCache(asking(text, from(path))) }))]
}

/** What asks for a chunk with its code cache gets the loader for that. */
function withCodeCache(text) {
  if (!text.includes('__quick(')) return text
  const loader = readFileSync(join(root, 'scripts/code-cache.cjs'), 'utf8').replace(/^\/\/.*\n/gm, '')
  const [shebang, ...rest] = text.split('\n')
  return `${shebang}\nconst __quick=(()=>{const module={};${loader};return module.exports})();${rest.join('\n')}`
}

/** Lists runs once in a project of its own, so that V8 has compiled what that needs, and keeps what it made. */
function makeCodeCache() {
  const pack = chunks.find(({ path }) => basename(path).startsWith('pack-'))
  if (!pack || existsSync(`${pack.path}.${process.version}.cache`)) return
  const place = mkdtempSync(join(tmpdir(), 'holdfast-build-'))
  const run = (args, env) =>
    spawnSync(process.execPath, [join(dist, 'cli.js'), ...args], {
      cwd: place,
      // A supervisor would wait for further commands long after this place is gone.
      env: { PATH: process.env.PATH, HOME: place, HOLDFAST_SUPERVISOR: 'never', ...env },
      stdio: 'ignore',
      timeout: 20_000,
    })
  run(['exec', '--', 'true'])
  run(['runs'], { HOLDFAST_MAKE_CODE_CACHE: '1' })
  rmSync(place, { recursive: true, force: true })
}

/** What came from CommonJS gets a `require`, which ES modules do not have. */
function withRequire(text) {
  const needed = /typeof require\b/.test(text)
  return `${needed ? "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" : ''}${text}`
}

/**
 * Puts libsql into the bundle, with a quicker way to its native library. Its user asks for it by a `require` made at run time,
 * which works unbundled but is hidden from the bundler. Refuses to build when either text is no longer what it replaces.
 */
function quickLibsql() {
  const replacements = [
    [/[\\/]src[\\/]stores[\\/]sqlite[\\/]driver\.ts$/, /createRequire\(import\.meta\.url\)\('libsql'\)/, "require('libsql')"],
    [
      /[\\/]node_modules[\\/]libsql[\\/]index\.js$/,
      /const \{ load, currentTarget \}[\s\S]*?\nfunction requireNative\(\) \{[\s\S]*?\n\}\n/,
      `const { requireNative } = require(${JSON.stringify(join(root, 'scripts/libsql-native.cjs'))})\n`,
    ],
  ]
  return {
    name: 'quick-libsql',
    setup(plugin) {
      for (const [filter, original, replacement] of replacements) {
        plugin.onLoad({ filter }, ({ path }) => {
          const source = readFileSync(path, 'utf8')
          if (!original.test(source)) return { errors: [{ text: `${path} no longer has the text that scripts/build.mjs replaces` }] }
          return { contents: source.replace(original, () => replacement), loader: path.endsWith('.ts') ? 'ts' : 'js' }
        })
      }
    },
  }
}

/** Writes a file under its name in one step. */
function place(path, text) {
  const draft = join(dist, `.draft-${process.pid}`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(draft, text)
  renameSync(draft, path)
}

function removeOldChunks(current) {
  if (!existsSync(join(dist, 'chunks'))) return
  for (const name of readdirSync(join(dist, 'chunks'))) {
    const path = join(dist, 'chunks', name)
    if (current.has(path)) continue
    const ageMs = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (flags.has('--prune') || ageMs > keepChunksMs) rmSync(path, { force: true })
  }
}

/** Declarations of the public entries. Their relative imports end in .js, as every TypeScript since 4.7 resolves them. */
function emitTypes() {
  const draft = join(dist, `.types-${process.pid}`)
  for (const [config, folder] of [
    ['tsconfig.types.json', draft],
    ['tsconfig.conformance.json', join(draft, 'conformance')],
  ]) {
    const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'scripts', config), '--outDir', folder]
    if (spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] }).status === 0) continue
    rmSync(draft, { recursive: true, force: true })
    process.exit(1)
  }
  const foreign = new Set()
  for (const name of readdirSync(draft, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue
    const path = join(draft, name)
    const text = readFileSync(path, 'utf8').replace(/(from |import\()(['"])(\.{1,2}\/[^'"]+)\.ts\2/g, '$1$2$3.js$2')
    for (const [, , from] of text.matchAll(/(from |import\()['"]([^.'"][^'"]*)['"]/g))
      if (!from.startsWith('node:') && !(from === 'vitest' && name.startsWith('conformance'))) foreign.add(from)
    writeFileSync(path, text)
  }
  // dist/ itself is CommonJS; what these declare is an ES module.
  writeFileSync(join(draft, 'package.json'), '{ "type": "module" }\n')
  if (foreign.size > 0) say(`types: the public declarations mention ${[...foreign].join(', ')}, which a user of the package may not have`)
  rmSync(join(dist, 'types'), { recursive: true, force: true })
  renameSync(draft, join(dist, 'types'))
}

/** The licences of what is bundled, which ask to be passed on. */
function thirdPartyLicenses() {
  const packages = new Set()
  for (const input of bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs))) {
    const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]
    if (folder) packages.add(folder)
  }
  const bundled = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    // Some packages come without theirs; then it stands in a file of ours, put together from what their sources say.
    const path = file ? join(root, folder, file) : join(root, 'scripts/licenses', `${name.replace('@', '').replace('/', '-')}.txt`)
    return `${name} ${version} (${license})\n\n${readFileSync(path, 'utf8')}`
  })
  // A static program holds the C library that it was linked to.
  const linked = `GNU C Library (LGPL-2.1-or-later, https://www.gnu.org/software/libc/)

The programs in dist/native/ are linked statically to it, as Debian distributes it. native/ and scripts/build-supervisor, which are
in this package, link them anew to any other version of it.
`
  return [...bundled, linked].join(`\n${'-'.repeat(78)}\n\n`)
}

/** The latest change, in milliseconds, among these paths and everything below them. */
function newestChange(paths) {
  let newest = 0
  for (const path of paths) {
    const info = statSync(path, { throwIfNoEntry: false })
    if (!info) continue
    newest = Math.max(newest, info.mtimeMs)
    if (info.isDirectory()) newest = Math.max(newest, newestChange(readdirSync(path).map((name) => join(path, name))))
  }
  return newest
}

function say(text) {
  process.stderr.write(`build: ${text}\n`)
}
