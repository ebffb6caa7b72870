interface Line {
  readonly at: Date
  readonly bytes: Buffer
}

/** Older output of a container is forgotten. */
const keptBytes = 16 * 1024 * 1024

/** What a container has printed, line by line, and who follows it. */
export class ContainerLog {
  private lines: Line[] = []
  private partial: { at: Date; pieces: Buffer[] } | undefined
  private size = 0
  private isOver = false
  private readonly followers = new Set<(line: Line | undefined) => void>()

  write(piece: Buffer): void {
    let start = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      this.partial ??= { at: new Date(), pieces: [] }
      this.partial.pieces.push(piece.subarray(start, end + 1))
      this.add()
      start = end + 1
    }
    if (start === piece.length) return
    this.partial ??= { at: new Date(), pieces: [] }
    this.partial.pieces.push(piece.subarray(start))
  }

  end(): void {
    if (this.partial) this.add()
    this.isOver = true
    for (const tell of this.followers) tell(undefined)
  }

  /** `tail`: so many lines at most. Follows until the end of the container, or until the answer is closed. */
  read(
    terms: { readonly tail?: number | undefined; readonly since?: Date | undefined; readonly follow: boolean; readonly timestamps: boolean },
    say: (bytes: Buffer) => void,
    end: () => void,
  ): () => void {
    const tell = ({ at, bytes }: Line): void => say(terms.timestamps ? Buffer.concat([Buffer.from(`${at.toISOString()} `), bytes]) : bytes)
    const found = this.lines.filter(({ at }) => terms.since === undefined || at >= terms.since)
    for (const line of terms.tail === undefined ? found : terms.tail === 0 ? [] : found.slice(-terms.tail)) tell(line)
    if (!terms.follow || this.isOver) {
      if (!terms.follow && this.partial) say(Buffer.concat(this.partial.pieces))
      end()
      return () => {}
    }
    const follower = (line: Line | undefined): void => (line ? tell(line) : end())
    this.followers.add(follower)
    return () => this.followers.delete(follower)
  }

  private add(): void {
    const { at, pieces } = this.partial as { at: Date; pieces: Buffer[] }
    this.partial = undefined
    const line: Line = { at, bytes: Buffer.concat(pieces) }
    this.lines.push(line)
    this.size += line.bytes.length
    while (this.size > keptBytes && this.lines.length > 1) this.size -= this.lines.shift()?.bytes.length ?? 0
    for (const tell of this.followers) tell(line)
  }
}
