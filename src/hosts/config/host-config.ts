import type { HostName } from '../host.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import type { ConfigFile } from './config-file.ts'
import { cursor } from './cursor.ts'
import { geminiCli } from './gemini-cli.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { vscode } from './vscode.ts'

export const scopes = ['project', 'user'] as const
/** For everybody who works on a project, or for one person wherever they work. */
export type Scope = (typeof scopes)[number]

/** Where files of hosts may be on a machine. */
export interface HostPlaces {
  readonly home: string
  /** The folder of the person's settings: XDG_CONFIG_HOME. */
  readonly settings: string
  /** The top of the project. */
  readonly project: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  exists(path: string): boolean
}

/** How Holdfast is installed in a host. */
export interface HostConfig {
  /** Every file that may hold something of ours, those first that are told of first. */
  files(places: HostPlaces, scope: Scope): readonly ConfigFile[]
  /** Files and folders that are there where the host was used. */
  signs(places: HostPlaces): readonly string[]
  /** What it is called on the PATH. */
  readonly programs: readonly string[]
  /** What a person has to do for it to take effect. */
  next(scope: Scope): readonly string[]
  /** Which of the person's variables reach a server that it starts; absent: all. */
  passes?(name: string): boolean
}

/** What a host loads of itself changes nothing about where a person expects Holdfast to be: in every project, and in no repository unasked. */
export const defaultScope: Scope = 'user'

export const hostConfigs: Readonly<Record<HostName, HostConfig>> = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
  opencode,
  cursor,
  vscode,
  pi,
}
