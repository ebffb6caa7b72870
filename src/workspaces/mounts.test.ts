import { expect, it } from 'vitest'
import { parseMounts } from './mounts.ts'

it('overlay mounts are read with their layers, whatever is in their paths, and others are left out', () => {
  const text = [
    '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
    '44 27 0:39 / /srv/a\\040b\\134c rw,relatime - overlay holdfast rw,lowerdir=.bases/x/tree:.bases/y/tree,upperdir=.overlays/n/upper,workdir=.overlays/n/work,redirect_dir=on',
    '45 27 0:40 / /ro rw shared:2 master:1 - overlay other rw,lowerdir+=/one,lowerdir+=/t\\040wo',
    '',
  ].join('\n')
  expect(parseMounts(text)).toEqual([
    { path: '/srv/a b\\c', lower: ['.bases/x/tree', '.bases/y/tree'], upper: '.overlays/n/upper' },
    { path: '/ro', lower: ['/one', '/t wo'], upper: null },
  ])
})
