import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { findJsonFault } from './json-fault.ts'

describe('a text that is no JSON', () => {
  it.each<[string, number, number, string]>([
    ['', 1, 1, 'the file ends where a value is expected'],
    ['{\n  "a": 1,\n}', 3, 1, 'a comma cannot stand before }'],
    ['[1, ]', 1, 5, 'a comma cannot stand before ]'],
    ['{\n  // why\n  "a": 1\n}', 2, 3, 'comments are not part of JSON'],
    ['{ "a": 1 /* why */ }', 1, 10, 'comments are not part of JSON'],
    ['# why\n{}', 1, 1, 'comments are not part of JSON'],
    ['{}\n// end', 2, 1, 'comments are not part of JSON'],
    ["{ 'a': 1 }", 1, 3, 'text stands in double quotes'],
    ['{ a: 1 }', 1, 3, '"a" stands where a key in double quotes or } is expected'],
    ['{ "a" 1 }', 1, 7, '"1" stands where a colon is expected'],
    ['{ "a": }', 1, 8, 'a comma cannot stand before }'],
    ['{ "a": 1\n  "b": 2 }', 2, 3, '"\\"" stands where a comma or the closing bracket is expected'],
    ['{ "a": "one', 1, 8, 'the text that begins here has no end'],
    ['{ "a": "one\ntwo" }', 1, 12, 'a text cannot hold a line break or another control character'],
    ['{ "a": "C:\\dir" }', 1, 11, 'this escape is not part of JSON'],
    ['{ "a": 01 }', 1, 8, '"0" stands where a value is expected'],
    ['{ "a": True }', 1, 8, '"T" stands where a value is expected'],
    ['{} {}', 1, 4, '"{" stands where the end of the file is expected'],
    ['[1}', 1, 3, '"}" stands where a comma or the closing bracket is expected'],
    ['{ "a": 1', 1, 9, 'the file ends where a comma or the closing bracket is expected'],
    ['{\r\n  "\u{1f600}": x }', 2, 8, '"x" stands where a value is expected'],
    ['\u{1f600}', 1, 1, '"\u{1f600}" stands where a value is expected'],
  ])('%j fails at line %i, column %i', (text, line, column, why) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError)
    expect(findJsonFault(text)).toEqual({ line, column, why })
  })

  it('is told from one that is, however it was damaged', () => {
    const { int, pick } = random(4)
    const whole = JSON.stringify({ a: [1, -2.5e-7, 'x\n\u{1f600}\\"', true, null, {}], 'b c': { d: [], e: [[0]] } }, null, 1)
    const marks = [...'{}[]:,"\\ \n01-+.eEtrufalsn/#\u0007\u00e9']
    let legal = 0
    for (let i = 0; i < 20_000; i += 1) {
      const characters = [...whole]
      for (let edits = int(1, 2); edits > 0; edits -= 1) characters.splice(int(0, characters.length), int(0, 2), ...(int(0, 1) ? [pick(marks)] : []))
      const text = characters.join('')
      const parses = isJson(text)
      if (parses) legal += 1
      if ((findJsonFault(text) === undefined) !== parses) expect.fail(`judged wrongly: ${JSON.stringify(text)}`)
    }
    expect(legal).toBeGreaterThan(500)
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
