// Compiles wasm/sieve.ts, lays out the words of src/digest/trouble-words.ts for it, and writes both to src/digest/sieve-program.ts.
// That file is committed: whoever builds Holdfast needs no compiler. Run this after a change of one of the two; a test tells.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
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

const windowBytes = 4
const groupCount = 8
/** What there is room for; see wasm/sieve.ts. */
const maxNeedles = 213

// How often bytes stand in logs, roughly, in thousandths.
const shares = new Float64Array(256).fill(0.1)
for (const [bytes, share] of [
  ['etaoin', 250],
  ['srhldcumfp', 250],
  ['gwybvkxjqz', 60],
  ['0123456789', 140],
  [' ', 120],
  ['./-_:', 80],
  ['()[]=,"\'', 40],
  ['ETAOINSRHLDCUMFPGWYBVKXJQZ', 60],
])
  for (const byte of Buffer.from(bytes)) shares[byte] += share / bytes.length
const allShares = shares.reduce((sum, share) => sum + share)

const isLetter = (byte) => byte >= 97 && byte <= 122
const bit = (mask, at) => (mask >> at) & 1

/** Which low and high halves a byte of a needle may have; any, behind its end. */
function halvesOf(byte) {
  if (byte === undefined) return { low: 0xffff, high: 0xffff }
  return { low: 1 << (byte & 15), high: (1 << (byte >> 4)) | (isLetter(byte) ? 1 << ((byte - 32) >> 4) : 0) }
}

function chanceOf(places) {
  return places.reduce((chance, { low, high }) => {
    let share = 0
    for (let byte = 0; byte < 256; byte += 1) if (bit(low, byte & 15) && bit(high, byte >> 4)) share += shares[byte]
    return (chance * share) / allShares
  }, 1)
}

const emptyPlaces = () => Array.from({ length: windowBytes }, () => ({ low: 0, high: 0 }))
const join2 = (places, others) => places.map(({ low, high }, i) => ({ low: low | others[i].low, high: high | others[i].high }))
const windowOf = ({ text }, from) => Array.from({ length: windowBytes }, (_, i) => halvesOf(text[from + i]))
const placesOf = (members) => members.reduce((places, { needle, from }) => join2(places, windowOf(needle, from)), emptyPlaces())

/** Puts each needle with its window into the group where it makes least false alarms; several rounds, since later ones change that. */
function plan(needles) {
  const members = Array.from({ length: groupCount }, () => [])
  const put = (needle) => {
    let best
    for (const group of members) {
      const places = placesOf(group)
      const before = group.length === 0 ? 0 : chanceOf(places)
      for (let from = 0; from <= Math.max(0, needle.text.length - windowBytes); from += 1) {
        const cost = chanceOf(join2(places, windowOf(needle, from))) - before
        if (!best || cost < best.cost) best = { cost, group, from }
      }
    }
    best.group.push({ needle, from: best.from })
  }
  for (const needle of [...needles].sort((a, b) => a.text.length - b.text.length)) put(needle)
  for (let round = 0; round < 4; round += 1) {
    for (const needle of needles) {
      for (const group of members) {
        const at = group.findIndex((member) => member.needle === needle)
        if (at >= 0) group.splice(at, 1)
      }
      put(needle)
    }
  }
  return members
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
  const groups = plan(needles)
  const program = await compile()
  const rows = groups.map((members) => `  [${members.map(({ needle: { word, startsWord }, from }) => JSON.stringify([word, from, startsWord])).join(', ')}],\n`)
  const path = 'src/digest/sieve-program.ts'
  writeFileSync(
    join(root, path),
    `// Made by scripts/build-sieve.mjs.

/** Of which sources it is made. */
export const sieveSources = '${hashOfSources()}'

/** Groups of the words of trouble: each word, where the window in it begins, and whether it counts at the beginning of a word only. */
export const sieveGroups: readonly (readonly (readonly [word: string, from: number, startsWord: boolean])[])[] = [
${rows.join('')}]

/** wasm/sieve.ts, compiled; base64. */
export const sieveProgram = '${program.toString('base64')}'
`,
  )
  spawnSync(process.execPath, [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'format', '--write', join(root, path)], { stdio: 'ignore' })
  process.stderr.write(`sieve: ${program.length} bytes of program, ${needles.length} words\n`)
}
