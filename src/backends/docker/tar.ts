export interface TarFolder {
  /** Relative, without a slash at its end. */
  readonly path: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

const blockBytes = 512

/** A tar archive (POSIX ustar) of folders that are to be made. */
export function tarOfFolders(folders: readonly TarFolder[]): Buffer {
  return Buffer.concat([...folders.map(header), Buffer.alloc(2 * blockBytes)])
}

function header({ path, mode, uid, gid }: TarFolder): Buffer {
  const block = Buffer.alloc(blockBytes)
  const [prefix, name] = splitPath(`${path}/`)
  block.write(name, 0)
  writeOctal(block, mode, 100, 8)
  writeOctal(block, uid, 108, 8)
  writeOctal(block, gid, 116, 8)
  writeOctal(block, 0, 124, 12)
  writeOctal(block, 0, 136, 12)
  block.fill(' ', 148, 156)
  block.write('5', 156)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** A number that has no room in octal digits is written in base 256, as GNU and Go do it. */
function writeOctal(block: Buffer, value: number, at: number, length: number): void {
  const digits = value.toString(8)
  if (digits.length < length) block.write(`${digits.padStart(length - 1, '0')}\0`, at)
  else {
    block[at] = 0x80
    block.writeUIntBE(value, at + length - 6, 6)
  }
}

function splitPath(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ['', path]
  for (let at = path.indexOf('/'); at !== -1 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const name = path.slice(at + 1)
    if (Buffer.byteLength(name) <= 100 && at <= 155) return [path.slice(0, at), name]
  }
  throw new RangeError(`a path of ${path.length} characters has no room in a tar header`)
}
