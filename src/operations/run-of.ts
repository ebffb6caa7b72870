/** Operations whose answers are counted: they show what runs printed, or list runs. */
const aboutOneRun = ['exec', 'wait', 'stop', 'show', 'output']
const aboutRuns = [...aboutOneRun, 'runs', 'search']

export const isAboutRuns = (operation: string): boolean => aboutRuns.includes(operation)

/** The run that an answer is about; null where that is none, or several. */
export function runOf(operation: string, result: unknown): string | null {
  const id = aboutOneRun.includes(operation) ? (result as { id?: unknown } | null | undefined)?.id : undefined
  return typeof id === 'string' ? id : null
}
