// The whole check: formatting and lint, types, build, tests with their guards. Stops at the first step that fails, and always
// ends in a line "N passed, N failed": the tests, and a step that failed counts as one.
// Arguments go on to vitest, to check a part: npm run check -- src/core
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
const countsFile = join(scratch, 'counts.json')
const counts = { passed: 0, failed: 0, skipped: 0 }

const steps = [
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
  ['types', 'node_modules/typescript/bin/tsc', '-p', '.'],
  ['build', 'scripts/build.mjs'],
  ['tests', 'node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)],
]

try {
  for (const [name, script, ...args] of steps) {
    console.log(`-- ${name}`)
    const startedAt = performance.now()
    const step = spawnSync(process.execPath, [join(root, script), ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, HOLDFAST_COUNTS: countsFile },
    })
    if (name === 'tests') Object.assign(counts, readCounts())
    if (step.status !== 0 && counts.failed === 0) counts.failed = 1
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`-- ${name}: ${step.status === 0 ? 'ok' : `failed (${step.error?.message ?? step.signal ?? `status ${step.status}`})`}, ${seconds} s`)
    if (step.status !== 0) break
  }
} catch (error) {
  console.log(error)
  counts.failed += 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
  process.exitCode = counts.failed > 0 ? 1 : 0
  console.log(`${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`)
}

/** What the reporter counted; one failure where it did not get that far. */
function readCounts() {
  try {
    return JSON.parse(readFileSync(countsFile, 'utf8'))
  } catch {
    return { failed: 1 }
  }
}
