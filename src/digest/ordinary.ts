import { isBlob } from './blob.ts'
import { toolText } from './lines-that-matter.ts'
import type { LineRef } from './log.ts'
import { lineAfter, lineBefore } from './log.ts'

/** How far around a line is looked for what goes on there anyway. */
const reach = 160
/** So often a word, or a way to begin, stands in lines that say what goes on. */
const often = 3
const maxChars = 240

/**
 * Tells what goes on around a line anyway: lines that begin like several others there, or whose words they have. What is none of
 * these and stands beside a failure is likely to be about it. Lines that are `apart`, since they may be about one, are no measure.
 */
export function ordinaryAround(line: LineRef, apart: (number: number) => boolean): (line: LineRef) => boolean {
  const begins = new Map<string, number>()
  const words = new Map<string, number>()
  const count = (other: LineRef): void => {
    if (apart(other.number)) return
    const text = toolText(other)
    add(begins, beginOf(text))
    for (const word of wordsOf(text)) add(words, word)
  }
  for (const step of [lineBefore, lineAfter]) {
    let other = step(line)
    for (let i = 0; other && i < reach; i += 1, other = step(other)) count(other)
  }
  return (other) => {
    const text = toolText(other)
    if (text.trim() === '') return false
    if ((begins.get(beginOf(text)) ?? 0) > often) return true
    const own = wordsOf(text)
      .map((word) => words.get(word) ?? 0)
      .sort((a, b) => a - b)
    return own.length > 1 && (own[Math.floor(own.length * rarer)] as number) >= often
  }
}

/** A line is as ordinary as the rarer part of its words. */
const rarer = 0.34

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

/** Pieces of encoded data begin alike in that they have no beginning. */
const beginOf = (text: string): string => (isBlob(text) ? '' : (/^\s*\S{1,40}/.exec(text)?.[0] ?? '').replace(/\d+/g, '#'))

/** The words of the beginning of a line, each once. */
export const wordsOf = (text: string): string[] => [
  ...new Set(
    text
      .slice(0, maxChars)
      .toLowerCase()
      .match(/\p{L}{3,}/gu) ?? [],
  ),
]
