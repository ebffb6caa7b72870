/** A set of numbers other than 0, at 4 to 8 bytes each: a log of 64 MiB may have half a million different lines. */
export interface ShapeSet {
  /** False where there is no room for it any more. */
  add(shape: number): boolean
  has(shape: number): boolean
  values(): Generator<number>
}

const firstSlots = 1 << 8
const defaultMaxSlots = 1 << 21

/** Numbers are 32 bits, well mixed. */
export function shapeSet(maxSlots = defaultMaxSlots): ShapeSet {
  let slots = new Int32Array(Math.min(firstSlots, maxSlots))
  let size = 0
  /** Where it is, or would be: 0 is free. */
  const slotOf = (shape: number): number => {
    const mask = slots.length - 1
    let at = (Math.imul(shape, 0x9e3779b1) >>> 7) & mask
    while (slots[at] !== 0 && slots[at] !== shape) at = (at + 1) & mask
    return at
  }
  const grow = (): void => {
    const old = slots
    slots = new Int32Array(old.length * 2)
    for (const shape of old) if (shape !== 0) slots[slotOf(shape)] = shape
  }
  return {
    add(value) {
      const shape = value | 0
      const at = slotOf(shape)
      if (slots[at] === shape) return true
      if ((size + 1) * 4 > slots.length * 3) {
        if (slots.length >= maxSlots) return false
        grow()
        slots[slotOf(shape)] = shape
      } else slots[at] = shape
      size += 1
      return true
    },
    has: (value) => slots[slotOf(value | 0)] === (value | 0),
    *values() {
      for (const shape of slots) if (shape !== 0) yield shape
    },
  }
}
