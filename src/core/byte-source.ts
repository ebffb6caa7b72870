/** Bytes that are read where they are wanted, so that a long log never has to be in memory whole. */
export interface ByteSource {
  readonly length: number
  /** Fills `target` with the bytes from offset `from` on; gives how many there were. */
  read(target: Uint8Array, from: number): number
}

/** Bytes of which some may be missing in the middle. */
export interface CutSource extends ByteSource {
  /** Before the byte at `offset`: so many bytes, with so many line feeds. */
  readonly gap?: { readonly offset: number; readonly bytes: number; readonly lines: number } | undefined
}

/** Bytes that are in memory anyway. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  return {
    length: bytes.length,
    read(target, from) {
      const part = bytes.subarray(from, from + target.length)
      target.set(part)
      return part.length
    },
  }
}

/** The bytes from `from` up to `to`. What a source no longer has is missing at the end. */
export function readBytes(source: ByteSource, from: number, to: number): Buffer {
  const target = Buffer.allocUnsafe(Math.max(0, Math.min(to, source.length) - from))
  return target.subarray(0, target.length === 0 ? 0 : source.read(target, from))
}
