/** Values by numbers other than 0 that are well mixed in their lower 32 bits. Numbers of more bits than those would each be an object in a `Map`. */
export interface ShapeMap<Value> {
  get(shape: number): Value | undefined
  /** For a number that is not in it. */
  add(shape: number, value: Value): void
}

const firstSlots = 1 << 8

export function shapeMap<Value>(): ShapeMap<Value> {
  let keys = new Float64Array(firstSlots)
  const values: Value[] = []
  let places = new Int32Array(firstSlots)
  /** Where it is, or would be: 0 is free. */
  const slotOf = (shape: number): number => {
    const mask = keys.length - 1
    let at = shape & mask
    while (keys[at] !== 0 && keys[at] !== shape) at = (at + 1) & mask
    return at
  }
  const put = (shape: number, place: number): void => {
    const at = slotOf(shape)
    keys[at] = shape
    places[at] = place
  }
  const grow = (): void => {
    const [oldKeys, oldPlaces] = [keys, places]
    keys = new Float64Array(oldKeys.length * 2)
    places = new Int32Array(keys.length)
    for (const [at, shape] of oldKeys.entries()) if (shape !== 0) put(shape, oldPlaces[at] as number)
  }
  return {
    get(shape) {
      const at = slotOf(shape)
      return keys[at] === 0 ? undefined : values[places[at] as number]
    },
    add(shape, value) {
      if ((values.length + 1) * 2 > keys.length) grow()
      put(shape, values.length)
      values.push(value)
    },
  }
}
