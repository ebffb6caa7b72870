import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { pip } from './pip.ts'

describe('the recogniser for pip', () => {
  it.each<[string, object, string[]]>([
    [
      'pip-build',
      { errors: 2 },
      [
        '10 python setup.py bdist_wheel did not run successfully. @ bad.c:1:10 | bad.c:1:10: fatal error: nothere.h: No such file or directory',
        '28 Failed building wheel for bad @ - | -',
      ],
    ],
    [
      'pip-conflict',
      { errors: 1 },
      ['6 Cannot install billing==1.0 and invoices==3.1 because these package versions have conflicting dependencies. @ - | The conflict is caused by:'],
    ],
    [
      'pip-missing',
      { errors: 1 },
      ['4 Could not find a version that satisfies the requirement not-published>=1 (from needs-more) (from versions: none) @ - | -'],
    ],
    [
      'pip-net',
      { errors: 1 },
      [
        "3 Could not find a version that satisfies the requirement not-installed-here (from versions: none) @ - | WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f11e187d210>: Failed to establish a new connection: [Errno 111] Connection refused')': /simple/not-installed-here/",
      ],
    ],
    ['pip-passing', {}, []],
    ['pip-python', { errors: 1 }, ["4 Package 'future-only' requires a different Python: 3.11.7 not in '>=4' @ - | -"]],
    [
      'pip-resolver',
      { errors: 1 },
      [
        "9 pip's dependency resolver does not currently take into account all the packages that are installed. This behaviour is the source of the following dependency conflicts. @ - | billing 1.0 requires money-core<2, but you have money-core 2.5 which is incompatible.",
      ],
    ],
    ['pip-setup', { errors: 1 }, ["7 python setup.py egg_info did not run successfully. @ - | ModuleNotFoundError: No module named 'nothing_here'"]],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(pip, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('has what a build printed, its place and its source, out of the frame that pip draws', () => {
    const [built] = recogniseWith(pip, sample('pip-build'))?.failures ?? []
    expect(built?.details.map(({ text }) => text.trim())).toEqual([
      'bad.c:1:10: fatal error: nothere.h: No such file or directory',
      "error: command '/usr/bin/gcc' failed with exit code 1",
      '1 | #include <nothere.h>',
      '|          ^~~~~~~~~~~',
    ])
  })

  it('has both sides of a conflict, and what was installed', () => {
    expect(recogniseWith(pip, sample('pip-conflict'))?.failures[0]?.details.map(({ text }) => text.trim())).toEqual([
      'The conflict is caused by:',
      'billing 1.0 depends on money-core<2',
      'invoices 3.1 depends on money-core>=2',
    ])
    expect(recogniseWith(pip, sample('pip-passing'))?.totals.map(({ text }) => text)).toEqual(['Successfully installed billing-1.0 money-core-1.5'])
  })

  it('goes on after a frame that was cut off', () => {
    const lines = linesOf(sample('pip-build'))
    const titles = recogniseWith(pip, [...lines.slice(0, 20), ...linesOf(sample('pip-python')).slice(-1)])?.failures.map(({ title }) => title)
    expect(titles).toEqual(['python setup.py bdist_wheel did not run successfully.', "Package 'future-only' requires a different Python: 3.11.7 not in '>=4'"])
  })
})
