/** Where something stands in a configuration file: keys of objects, and places in lists. */
export type Path = readonly (string | number)[]

/** How text of one format is read and changed. Each change keeps every other byte: comments, order, indentation, line ends. */
export interface Editing {
  /** An empty text is an empty object. Everything here throws a Fault where the text is broken. */
  parse(text: string): unknown
  /** Gives a member a value; objects above it that are not there are made. */
  set(text: string, path: Path, value: unknown): string
  /** Adds an element to the end of a list, which is made where it is not there. */
  append(text: string, path: Path, value: unknown): string
  /** Takes a member or an element away, and nothing else. */
  remove(text: string, path: Path): string
  /** Whether an object or a list stands there as a whole, with nothing in it, not even a comment. */
  isBare(text: string, path: Path): boolean
}

/** What is wrong with a text, and where: an offset in it. */
export class Fault extends Error {
  constructor(
    readonly problem: string,
    readonly offset: number,
  ) {
    super(problem)
  }
}

/** The line end that a text uses. */
export const endOfLine = (text: string): string => (/\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n')
