/**
 * Text that stands for bytes one to one (Latin-1): names of files need not be UTF-8, and none may be lost on the way through git. Two
 * of them are the same exactly where the bytes are.
 */
export type ByteText = string

export const fromBytes = (bytes: Uint8Array): ByteText => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
export const toBytes = (text: ByteText): Buffer => Buffer.from(text, 'latin1')
/** As people read it. */
export const toShown = (text: ByteText): string => toBytes(text).toString('utf8')
/** Of a text that is UTF-8. */
export const toByteText = (text: string): ByteText => Buffer.from(text, 'utf8').toString('latin1')

/** The parts of what ends each of them with a NUL. */
export function nulParts(bytes: Uint8Array): ByteText[] {
  const parts = fromBytes(bytes).split('\0')
  parts.pop()
  return parts
}

/** A path below a folder, for the file system. */
export function below(folder: string, path: ByteText): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), toBytes(path)])
}

/** One path of a list in which git reads a line each: quoted like in C, so that it may hold any byte. */
export function quotedPath(path: ByteText): ByteText {
  const escaped = path.replace(/["\\]|[^ -~]/g, (char) =>
    char === '"' || char === '\\' ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
  return `"${escaped}"`
}
