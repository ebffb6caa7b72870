import { getPriority } from 'node:os'
import { expect, it } from 'vitest'
import { ownInherited, parseLimits } from './inherited.ts'

const table = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              7                    unlimited            seconds   
Max core file size        0                    0                    bytes     
Max nice priority         0                    0                    
Max realtime timeout      4611686018427387904  unlimited            us        
Max new kind of thing     1                    2                    things    
`

it('limits are read as the protocol has them, without the one that carries the tag and those that it does not know', () => {
  expect(parseLimits(table)).toEqual(['cpu 7 unlimited', 'core 0 0', 'nice 0 0'])
  expect(parseLimits('')).toEqual([])
})

it('what a child would take over is what this process has', () => {
  const mask = process.umask()
  process.umask(0o027)
  expect(ownInherited()).toMatchObject({ mask: 0o027, nice: getPriority() })
  process.umask(mask)
  expect(ownInherited().mask).toBe(mask)
  if (process.platform === 'linux') expect(ownInherited().limits).toContainEqual(expect.stringMatching(/^nofile \d+ \d+$/))
})
