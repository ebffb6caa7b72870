import { isAbsolute, join } from 'node:path'
import { mergeConfig } from './merge.ts'
import type { LoadedConfig } from './settings.ts'

export type { LoadedConfig } from './settings.ts'

export interface ConfigPlaces {
  readonly projectFile: string
  readonly personFile: string
  /** The text of a file, or undefined where there is none. */
  read(path: string): string | undefined
}

/**
 * The configuration in force, of the person's file and the project's, which wins setting by setting. Rejects with
 * `invalid_config`, which lists all problems of both files, and with whatever `read` throws.
 */
export async function loadConfig({ projectFile, personFile, read }: ConfigPlaces): Promise<LoadedConfig> {
  const paths = [
    { path: personFile, owner: 'person' },
    { path: projectFile, owner: 'project' },
  ] as const
  const places = personFile === projectFile ? paths.slice(0, 1) : paths
  const found = places.map((place) => ({ ...place, text: read(place.path) }))
  const texts = found.flatMap(({ text, ...place }) => (text === undefined ? [] : [{ ...place, text }]))
  // Most have no file, and then neither the schema nor what reads it is needed.
  const layers = texts.length === 0 ? [] : (await import('./check.ts')).checkConfig(texts)
  return { ...mergeConfig(layers), files: found.map(({ path, text }) => ({ path, found: text !== undefined })) }
}

/** The person's file: below XDG_CONFIG_HOME where that is an absolute path, as its specification asks, else below ~/.config. */
export function personConfigPath(env: Readonly<Record<string, string | undefined>>, home: string): string {
  const base = env.XDG_CONFIG_HOME
  return join(base && isAbsolute(base) ? base : join(home, '.config'), 'holdfast', 'holdfast.json')
}
