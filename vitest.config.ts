import { defineConfig } from 'vitest/config'

const shared = {
  // Tests start real programs, change directories and raise signals: each file gets a process of its own.
  pool: 'forks',
  testTimeout: 30_000,
  hookTimeout: 30_000,
} as const

// Vitest wants the configuration as the default export.
export default defineConfig({
  test: {
    // A command that a test starts may itself use a core.
    maxWorkers: 2,
    globalSetup: ['test/support/build.ts'],
    reporters: ['default', 'test/support/reporter.ts'],
    projects: [
      { test: { ...shared, name: 'all', include: ['src/**/*.test.ts', 'native/**/*.test.ts', 'test/**/*.test.ts'] } },
      // What is promised of any command holds without a supervisor, too.
      {
        test: {
          ...shared,
          name: 'plain mode',
          include: ['test/cases/{codes,complaints,endings,output}.test.ts'],
          env: { HOLDFAST_SUPERVISOR: 'never' },
        },
      },
    ],
  },
})
