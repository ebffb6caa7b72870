import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, ms, printTable, times } from './measure.mjs'
import { cliArgv } from './program.mjs'
import { rawQuiet } from './raw.mjs'

/** A large log in, a few lines out. */
export async function digest({ quick, world }) {
  const root = world.folder('digest')
  const bytes = (quick ? 8 : 40) * 1024 ** 2
  const path = join(root, 'build.log')
  const text = buildLog(bytes)
  writeFileSync(path, text)
  const holdfast = await openHoldfast({ root })
  const results = await interleaved(
    [
      { name: 'wc -l FILE', run: () => rawQuiet('wc', ['-l', path]) },
      { name: 'node -e 0', run: () => rawQuiet(process.execPath, ['-e', '0']) },
      { name: 'holdfast digest FILE', run: () => rawQuiet(...cliArgv(['digest', path]), { cwd: root }) },
      { name: 'library digest({ text })', run: () => holdfast.digest({ text }) },
      { name: 'exec of cat FILE, digest included', run: () => holdfast.exec({ argv: ['cat', path] }) },
    ],
    { rounds: quick ? 2 : 5 },
  )
  await holdfast.close()
  printTable(
    `Digest of a log of ${bytes / 1024 ** 2} MB`,
    ['', 'ms', 'to wc -l'],
    results.map((result) => [result.name, ms(result.ms), times(result.ratio)]),
  )
}

/** What a long build prints: much of the same, some warnings, one error near the end. */
function buildLog(bytes) {
  const lines = []
  let size = 0
  for (let i = 1; size < bytes; i += 1) {
    let line = `[${i}] Compiling crate-${i % 977} v0.${i % 40}.${i % 7} (/build/workspace/crates/crate-${i % 977}) in ${i % 53}.${i % 10}s`
    if (i % 500 === 0) line = `warning: unused variable: \`value_${i}\` at src/module_${i % 91}.rs:${i % 400}:9`
    size += line.length + 1
    lines.push(line)
  }
  lines.splice(-200, 0, 'error[E0308]: mismatched types', '  --> src/engine/settle.rs:118:21', 'error: could not compile `crate-7` due to 1 previous error')
  return `${lines.join('\n')}\n`
}
