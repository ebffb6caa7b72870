import { expect, it } from 'vitest'
import { isBlob } from './blob.ts'

it.each([
  ['99KAUNBGUzY+T7hontK7ftTOAvme+J8oFEHPLq2ft72x42M+lfnK2547TX/qOGz/3APSikiKn+xL', true],
  ['  visgcUkhwMJrEogSQdYXhRgblQV6Z0IyyzWUIlJlnMnUOcWWEv5mK/x5/X8=', true],
  ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', true],
  ['3b4a', false],
  ['--------------------------------------------------', false],
  ['src/surfaces/cli/some-quite-long-path-of-a-file/without-digits', false],
  ['THIS_IS_A_CONSTANT_WITH_A_RATHER_LONG_NAME_THAT_GOES_ON', false],
  ['Error: upload failed: 413 Payload Too Large, which is a sentence', false],
])('%s: %s', (line, expected) => {
  expect(isBlob(line)).toBe(expected)
})
