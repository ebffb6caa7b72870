// Compiles wasm/sieve.ts, lays out the words of src/digest/trouble-words.ts for it, and writes both to src/digest/sieve-program.ts.
// That file is committed: whoever builds Holdfast needs no compiler. Run this after a change of one of the two; a test tells.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const sources = ['wasm/sieve.ts', 'src/digest/trouble-words.ts', 'scripts/build-sieve.mjs']

/** Tells whether what was built is of these sources. */
export function hashOfSources() {
  const hash = createHash('sha256')
  for (const source of sources) hash.update(readFileSync(join(root, source))).update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** Those of windows whose two bytes in the middle are known; three more are for the others. See wasm/sieve.ts. */
const groupCount = 13
const otherGroups = { afterNoWord: 13, first: 14, last: 15 }
/** Places where a window may begin are so far apart. */
const stride = 4
const maxNeedles = 213

const isLetter = (byte) => byte >= 97 && byte <= 122
const isWord = (byte) => isLetter(byte) || (byte >= 48 && byte <= 57) || byte === 95
const fold = (byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)
const anyByte = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => fold(byte) === byte)
const noWord = anyByte.filter((byte) => !isWord(byte))

/** What logs are like, and prose: a window that often stands there is a bad one. */
function sampleText() {
  const folders = ['docs', 'src/digest/recognisers/samples'].map((name) => join(root, name))
  const files = folders.flatMap((folder) => readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [join(folder, entry.name)] : [])))
  return Buffer.concat(files.sort().map((path) => readFileSync(path))).map(fold)
}

/** How often pairs of bytes, and windows, stand in a text; and the windows by the pairs that they begin and end with. */
function sharesIn(text) {
  const pairs = new Float64Array(65_536).fill(1e-7)
  const windows = new Map()
  for (let at = 0; at + 4 <= text.length; at += 1) {
    pairs[text.readUInt16LE(at)] += 1 / text.length
    const bytes = text.readUInt32LE(at)
    windows.set(bytes, (windows.get(bytes) ?? 0) + 1 / text.length)
  }
  const begun = Array.from({ length: 65_536 }, () => [])
  const ended = Array.from({ length: 65_536 }, () => [])
  for (const [bytes, share] of windows) {
    begun[bytes & 0xffff].push({ pair: bytes >>> 16, share })
    ended[bytes >>> 16].push({ pair: bytes & 0xffff, share })
  }
  return { pairs, windows, begun, ended }
}

/** What the bytes of a window may be that begins at `from` of a needle. */
const bytesOf = ({ text, startsWord }, from) =>
  [0, 1, 2, 3].map((i) => (from + i === -1 && startsWord ? noWord : from + i < 0 || from + i >= text.length ? anyByte : [text[from + i]]))
const isKnown = ({ length }) => length === 1
const pairsOf = (first, second) => first.flatMap((a) => second.map((b) => a | (b << 8)))

/** By which of its bytes a window is looked up. */
function kindOf(a, b, c, d) {
  if (isKnown(b) && isKnown(c)) return 'middle'
  if (isKnown(a) && isKnown(b)) return 'first'
  if (!isKnown(d)) return undefined
  return isKnown(c) && b.length < anyByte.length ? 'afterNoWord' : 'last'
}

/** The windows that a needle may have, for one way in which it can lie to the places where they begin: the rarest, of those that can be looked up best. */
function windowsOf(needle, phase, { pairs, windows }) {
  const found = []
  for (let from = needle.startsWord ? -3 : -2; from <= needle.text.length - 2; from += 1) {
    if ((from + stride) % stride !== phase) continue
    const [a, b, c, d] = bytesOf(needle, from)
    const kind = kindOf(a, b, c, d)
    if (kind === undefined) continue
    const window = { needle, from, kind, begins: pairsOf(a, b), ends: pairsOf(c, d) }
    if (kind === 'middle') found.push({ ...window, share: shareOf([a, b, c, d], windows) })
    else found.push({ ...window, share: (kind === 'first' ? window.begins : window.ends).reduce((sum, pair) => sum + pairs[pair], 0) })
  }
  const middle = found.filter(({ kind }) => kind === 'middle')
  return (middle.length > 0 ? middle : found).sort((a, b) => a.share - b.share).slice(0, 6)
}

function shareOf(bytes, windows) {
  let share = 0
  const known = bytes.map((each) => (isKnown(each) ? each[0] : undefined))
  for (const [window, count] of windows) if (known.every((byte, i) => byte === undefined || byte === ((window >>> (8 * i)) & 255))) share += count
  return share
}

/** Puts a window of each needle and each phase into the group where it makes least false alarms; several rounds, since later ones change that. */
function plan(needles) {
  const shares = sharesIn(sampleText())
  const groups = Array.from({ length: groupCount }, () => ({ begins: emptySide(), ends: emptySide() }))
  const wanted = needles.flatMap((needle) => [0, 1, 2, 3].map((phase) => ({ needle, windows: windowsOf(needle, phase, shares) })))
  for (const { needle, windows } of wanted) if (windows.length === 0) throw new Error(`no window for "${needle.word}"`)
  for (let round = 0; round < 3; round += 1) {
    for (const entry of wanted) {
      if (entry.windows[0].kind !== 'middle') {
        entry.window = entry.windows[0]
        entry.group = otherGroups[entry.window.kind]
        continue
      }
      if (entry.window) move(groups[entry.group], entry.window, -1, shares.pairs)
      let least = Number.POSITIVE_INFINITY
      for (const [at, group] of groups.entries()) {
        for (const window of entry.windows) {
          const cost = costOf(group, window, shares)
          if (cost >= least) continue
          least = cost
          Object.assign(entry, { window, group: at })
        }
      }
      move(groups[entry.group], entry.window, 1, shares.pairs)
    }
  }
  return wanted
}

/** How much more often a group is met with one more window: in the sample, and, since other logs have other words, if pairs stood in any order. */
function costOf({ begins, ends }, window, { pairs, begun, ended }) {
  const newBegins = window.begins.filter((pair) => begins.counts[pair] === 0)
  const newEnds = window.ends.filter((pair) => ends.counts[pair] === 0)
  const wanted = new Set(window.ends)
  let met = 0
  for (const pair of newBegins) for (const { pair: end, share } of begun[pair]) if (ends.counts[end] > 0 || wanted.has(end)) met += share
  for (const pair of newEnds) for (const { pair: begin, share } of ended[pair]) if (begins.counts[begin] > 0) met += share
  const sum = (those) => those.reduce((all, pair) => all + pairs[pair], 0)
  return met + anyOrder * ((begins.share + sum(newBegins)) * (ends.share + sum(newEnds)) - begins.share * ends.share)
}

const anyOrder = 0.5
const emptySide = () => ({ counts: new Uint16Array(65_536), share: 0 })

function move(group, window, by, shares) {
  for (const side of ['begins', 'ends']) {
    for (const pair of window[side]) {
      const before = group[side].counts[pair]
      group[side].counts[pair] += by
      if (before === 0) group[side].share += shares[pair]
      else if (before + by === 0) group[side].share -= shares[pair]
    }
  }
}

async function compile() {
  const { default: asc } = await import('assemblyscript/asc')
  const { error, stdout, stderr, binary } = await asc.compileString(readFileSync(join(root, 'wasm/sieve.ts'), 'utf8'), {
    optimizeLevel: 3,
    noAssert: true,
    enable: ['simd'],
    runtime: 'stub',
    importMemory: true,
  })
  if (error) throw new Error(`${error.message}\n${stdout}${stderr}`)
  return Buffer.from(binary)
}

async function loadWords() {
  const { code } = transformSync(readFileSync(join(root, 'src/digest/trouble-words.ts'), 'utf8'), { loader: 'ts', format: 'esm' })
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { troubleWords, troubleWordStarts } = await loadWords()
  const needle = (startsWord) => (word) => ({ word, text: Buffer.from(word), startsWord })
  const needles = [...troubleWords.map(needle(false)), ...troubleWordStarts.map(needle(true))]
  for (const { word, text } of needles)
    if (text.length < 3 || text.length > 32 || word !== word.toLowerCase()) throw new Error(`not of 3 to 32 bytes in lower case: "${word}"`)
  if (needles.length > maxNeedles) throw new Error(`more than ${maxNeedles} words of trouble`)
  const windows = plan(needles)
  const program = await compile()
  const rows = needles.map(({ word, startsWord }) => {
    const own = windows.filter(({ needle }) => needle.word === word)
    return `  ${JSON.stringify([word, startsWord, own.map(({ window }) => window.from), own.map(({ group }) => group)])},\n`
  })
  const path = 'src/digest/sieve-program.ts'
  writeFileSync(
    join(root, path),
    `// Made by scripts/build-sieve.mjs.

/** Of which sources it is made. */
export const sieveSources = '${hashOfSources()}'

/** The words of trouble: each word, whether it counts at the beginning of a word only, where in it its windows begin, and their groups. */
export const sieveWords: readonly (readonly [word: string, startsWord: boolean, froms: readonly number[], groups: readonly number[]])[] = [
${rows.join('')}]

/** wasm/sieve.ts, compiled; base64. */
export const sieveProgram = '${program.toString('base64')}'
`,
  )
  spawnSync(process.execPath, [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'format', '--write', join(root, path)], { stdio: 'ignore' })
  process.stderr.write(`sieve: ${program.length} bytes of program, ${needles.length} words\n`)
}
