import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { docker } from './docker.ts'

describe('the recogniser for docker', () => {
  it.each<[string, string, object, string[]]>([
    [
      'docker-legacy',
      'as documented',
      {
        failed: 1,
      },
      ['11 Step 3/3 : RUN ./configure --with-store=disk @ - | configure: error: /var/lib/store is not writable'],
    ],
    [
      'docker-missing-file',
      'as documented',
      {
        failed: 1,
      },
      ['6 [2/3] COPY settings.yaml /etc/app/ @ Dockerfile:2 | 2 | >>> COPY settings.yaml /etc/app/'],
    ],
    [
      'docker-no-daemon',
      'Docker CLI 28.2',
      {},
      [
        '5 unable to prepare context: unable to evaluate symlinks in Dockerfile path: lstat /srv/app/Dockerfile: no such file or directory @ - | -',
        '6 Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running? @ - | -',
      ],
    ],
    ['docker-passed', 'as documented', {}, []],
    [
      'docker-run-step',
      'as documented',
      {
        failed: 1,
        warnings: 1,
      },
      ['32 [build 4/5] RUN ./configure --with-store=disk @ Dockerfile:4 | 0.345 configure: error: /var/lib/store is not writable'],
    ],
    [
      'docker-syntax',
      'as documented',
      {
        failed: 1,
      },
      ['11 dockerfile parse error on line 3: unknown instruction: RUNN (did you mean RUN?) @ Dockerfile:3 | 3 | >>> RUNN ./configure'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(docker, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('takes refusals that are alike for one, and none for a step', () => {
    const refusals = Array.from({ length: 30 }, (_, i) => `Error response from daemon: No such container: job-${i}`)
    const recognised = recogniseWith(docker, [...refusals, 'docker: Error response from daemon: port is already allocated'].join('\n'))
    expect(recognised?.counts).toEqual({})
    expect(failuresOf(recognised)).toEqual([
      '1 Error response from daemon: No such container: job-0 @ - | -',
      '31 Error response from daemon: port is already allocated @ - | -',
    ])
  })

  it('explains a step by what it printed and by its line of the Dockerfile', () => {
    const recognised = recogniseWith(docker, sample('docker-run-step'))
    expect(recognised?.failures[0]?.details.map(({ text }) => text.trim())).toEqual([
      '0.345 configure: error: /var/lib/store is not writable',
      '4 | >>> RUN ./configure --with-store=disk',
      '0.201 checking for a store... disk',
      '0.344 checking for write access to /var/lib/store... no',
    ])
    expect(recognised?.warnings).toHaveLength(1)
    expect(recognised?.totals.map(({ number }) => number)).toEqual([50])
  })

  it('finds the step in the end of a log alone', () => {
    expect(failuresOf(recogniseWith(docker, linesOf(sample('docker-run-step')).slice(32)))).toEqual([
      '34 [build 4/5] RUN ./configure --with-store=disk @ Dockerfile:4 | 0.345 configure: error: /var/lib/store is not writable',
    ])
  })

  it('names the step that could not be begun', () => {
    const log =
      '#6 [2/3] RUN apk add git\n#6 ERROR: failed to copy: could not fetch content\n------\n > [2/3] RUN apk add git:\n------\nbuild.Dockerfile:32\n--------------------\n  32 | >>> RUN apk add git\n--------------------\nerror: failed to solve: failed to compute cache key\n'
    const recognised = recogniseWith(docker, log)
    expect(failuresOf(recognised)).toEqual(['2 [2/3] RUN apk add git @ build.Dockerfile:32 | 32 | >>> RUN apk add git'])
    expect(recognised?.totals).toHaveLength(1)
  })
})
