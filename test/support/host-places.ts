import type { HostPlaces } from '../../src/hosts/config/host-config.ts'

/** For tests: the places of a person on a machine where none of the files is there, or those that are named. */
export const hostPlaces = (existing: readonly string[] = []): HostPlaces => ({
  home: '/home/ann',
  settings: '/home/ann/.config',
  project: '/srv/app',
  env: {},
  platform: 'linux',
  exists: (path) => existing.includes(path),
})
