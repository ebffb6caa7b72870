import { writeFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node'

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** What happened, counted so that a run that went wrong in any way never says "0 failed". */
export function countTests(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): Counts {
  const counts: Counts = { passed: 0, failed: errors.length, skipped: 0 }
  for (const module of modules) {
    // A file or a suite can fail outside its tests: while it is loaded, or in a hook.
    counts.failed += module.errors().length
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      counts[state === 'pending' ? 'skipped' : state] += 1
    }
  }
  if (reason !== 'passed' && counts.failed === 0) counts.failed = 1
  return counts
}

/** The closing line: `12 passed, 0 failed`, or `12 passed, 1 failed, 3 skipped`. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** Prints the closing line after everything else. Where HOLDFAST_COUNTS names a file, the counts go there instead. */
export default class ClosingLineReporter implements Reporter {
  #counts: Counts | undefined

  onInit(): void {
    // At the exit of the process, because other reporters and vitest itself still print after the last event.
    process.once('exit', (code) => {
      const counts = this.#counts ?? { passed: 0, failed: 1, skipped: 0 }
      if (code !== 0 && counts.failed === 0) counts.failed = 1
      const file = process.env.HOLDFAST_COUNTS
      if (file) writeFileSync(file, JSON.stringify(counts))
      else process.stdout.write(`${closingLine(counts)}\n`)
    })
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    this.#counts = countTests(modules, errors, reason)
  }
}
