import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'

const checkout = new URL('..', import.meta.url).pathname
const program = `holdfast-supervisor-linux-${process.arch}`
const possible =
  ['x64', 'arm64'].includes(process.arch) && hasProgram('cc', 'the supervisor in the package') && hasProgram('npm', 'the supervisor in the package')

it.runIf(possible)(
  'the package has a supervisor that can be executed as it is unpacked, and what is needed to build one',
  async () => {
    await using world = openWorld()
    const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', world.folder], {
      cwd: checkout,
      env: { ...world.env, npm_config_cache: world.path('cache') },
      encoding: 'utf8',
      timeout: 50_000,
    })
    expect(packed.status, packed.stderr).toBe(0)
    const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: readonly { path: string }[] }]
    const unpacked = world.path('unpacked')
    mkdirSync(unpacked)
    expect(spawnSync('tar', ['xzf', world.path(filename), '-C', unpacked], { timeout: 20_000 }).status).toBe(0)

    const found = join(unpacked, 'package/dist/native', program)
    expect(statSync(found).mode & 0o111).toBe(0o111)
    expect(spawnSync(found, ['--version'], { encoding: 'utf8', timeout: 10_000 }).stdout).toMatch(/^holdfast-supervisor [0-9a-f]{8} protocol 1\n$/)
    expect(existsSync(join(unpacked, 'package/dist/native/supervisor.json'))).toBe(true)

    const sources = readdirSync(join(checkout, 'native')).filter((name) => /\.[ch]$/.test(name))
    expect(readdirSync(join(unpacked, 'package/native')).sort()).toEqual(sources.sort())
    const again = spawnSync(join(unpacked, 'package/scripts/build-supervisor'), ['--out', world.path('again')], { encoding: 'utf8', timeout: 50_000 })
    expect([again.status, again.stderr]).toEqual([0, ''])
    expect(files.map(({ path }) => path).filter((path) => /asan|\.test\.|tests\//.test(path))).toEqual([])
  },
  120_000,
)
