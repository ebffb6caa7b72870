import { rawTransform } from 'valibot'

/** How durations and sizes are written in a file. */

export const longestMs = 36_500 * 86_400_000
export const durationForm = /^\d{1,15}(\.\d{1,9})?(ms|s|m|h|d)$/
export const sizeForm = /^\d{1,15}(\.\d{1,9})?\s*([kKmMgG]([iI]?[bB])?|[bB])?$/

/** Reads a text by `parse`, which throws; refuses what is outside of the bounds. */
export const parsed = (parse: (field: string, text: string) => number, least: number, most: number, accepted: string) =>
  rawTransform<string, number>(({ dataset, addIssue, NEVER }) => {
    try {
      const value = parse('', dataset.value)
      if (value >= least && value <= most) return value
    } catch {
      // What is accepted is said below.
    }
    addIssue({ message: accepted })
    return NEVER
  })
