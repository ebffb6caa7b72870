import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hasProgram } from '../../test/support/has-program.ts'
import { resolveProgram } from './command.ts'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-python-'))
  mkdirSync(join(cwd, 'run'))
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

const hasPython = hasProgram('python3', 'scripts for python')

const double = 'def double(x):\n    return 2 * x\n'
const pool = (method: string): string => `import multiprocessing as m
${double}
if __name__ == '__main__':
    with m.get_context('${method}').Pool(1) as workers:
        print(workers.map(double, [1, 2]))
`

describe.skipIf(!hasPython)('a script for python', () => {
  it.each([
    ['is the module __main__, without names that it did not make', 'print(__name__, sorted(n for n in dir() if not n.startswith("__")))', '__main__ []\n'],
    ['has arguments like those of -c', 'import sys\nprint(sys.argv)', "['-c']\n"],
    ['defines what can be pickled', `import pickle\n${double}print(pickle.loads(pickle.dumps(double))(4))`, '8\n'],
    ['shares its work with processes that are forked', pool('fork'), '[2, 4]\n'],
    ['shares its work with processes that are started anew', pool('spawn'), '[2, 4]\n'],
    ['looks for modules in the working directory', 'import sys\nprint(sys.path[0])', '\n'],
  ])('%s', (_, script, printed) => {
    const [program, ...args] = resolveProgram({ script, runtime: 'python' }, {}).prepare(join(cwd, 'run'))
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: printed, stderr: '' })
  })
})
