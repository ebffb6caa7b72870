import { open } from 'node:fs/promises'

const chunkBytes = 1024 * 1024

/**
 * Whether a file holds nothing but printable ASCII, tabs and line ends, so that its lines look as they were printed. It is read up to
 * the first byte that is something else.
 */
export async function isPlainFile(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined)
  if (!file) return false
  try {
    const buffer = Buffer.from(new ArrayBuffer(chunkBytes))
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length)
      if (bytesRead === 0) return true
      if (!isPlain(buffer, bytesRead)) return false
    }
  } catch {
    return false
  } finally {
    await file.close()
  }
}

/** Looks at four bytes at once; at each of them only where one is below a space or above `~`. The buffer begins at a multiple of four. */
export function isPlain(buffer: Buffer, length: number): boolean {
  const words = new Int32Array(buffer.buffer, buffer.byteOffset, length >> 2)
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as number
    // The high bit of a byte is set in the first part where it is below 0x20, in the second where it is 0x7f, in the last where it was set.
    const odd = ((word - 0x20202020) | (word + 0x01010101) | word) & 0x80808080
    if (odd !== 0 && !areKnown(buffer, i << 2, (i << 2) + 4)) return false
  }
  return areKnown(buffer, words.length << 2, length)
}

function areKnown(buffer: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i += 1) {
    const byte = buffer[i] as number
    if ((byte < 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) || byte > 0x7e) return false
  }
  return true
}
