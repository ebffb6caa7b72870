import { defineConfig } from 'vitest/config'

// Vitest wants the configuration as the default export.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'native/**/*.test.ts', 'test/**/*.test.ts'],
    // Tests start real programs, change directories and raise signals: each file gets a process of its own.
    pool: 'forks',
    // A command that a test starts may itself use a core.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    globalSetup: ['test/support/build.ts'],
    reporters: ['default', 'test/support/reporter.ts'],
  },
})
