import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { compose } from './compose.ts'

describe('the recogniser for docker compose', () => {
  it.each<[string, string, object, string[]]>([
    [
      'compose-exited',
      'as documented',
      {
        failed: 1,
        warnings: 1,
      },
      ['13 web-1 exited with code 1 @ - | settings: STORE_URL is not set'],
    ],
    [
      'compose-schema',
      'as documented',
      {
        failed: 1,
      },
      ["1 validating /srv/app/compose.yaml: services.web additional properties 'prots' not allowed @ - | -"],
    ],
    ['compose-started', 'as documented', {}, []],
    [
      'compose-undefined',
      'as documented',
      {
        failed: 1,
      },
      ['1 service "web" depends on undefined service "dbb": invalid compose project @ - | -'],
    ],
    [
      'compose-unhealthy',
      'as documented',
      {
        failed: 1,
      },
      ['8 dependency failed to start: container app-db-1 is unhealthy @ - | -'],
    ],
    [
      'compose-yaml',
      'as documented',
      {
        failed: 1,
      },
      ['1 parsing /srv/app/compose.yaml: yaml: line 4: did not find expected key @ /srv/app/compose.yaml:4 | -'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(compose, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a container that ended by what it printed itself', () => {
    expect(recogniseWith(compose, sample('compose-exited'))?.failures[0]?.details.map(({ text }) => text)).toEqual([
      'settings: STORE_URL is not set',
      'reading settings from the environment',
    ])
  })

  it('says nothing of a container that ended well', () => {
    expect(recogniseWith(compose, 'job-1  | done\njob-1 exited with code 0\n')).toBeUndefined()
  })
})
