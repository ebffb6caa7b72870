import type { App } from '../../app/api.ts'
import { overheadBytes } from './server.ts'

/** The app of a server: opened with the first call that needs it, and again with a later one if that failed. */
export interface SharedApp {
  (): Promise<App>
  /** Harmless where it was never opened; one that is still being opened is closed when it is open. Never rejects. */
  close(): Promise<void>
}

export function sharedApp(openApp: () => Promise<App>): SharedApp {
  let opening: Promise<App> | undefined
  const get = (): Promise<App> => {
    opening ??= openApp().then((app) => {
      app.countShown({ surface: 'mcp', operation: 'tools', run: null, bytes: overheadBytes() }).catch(() => {})
      return app
    })
    const current = opening
    current.catch(() => {
      if (opening === current) opening = undefined
    })
    return current
  }
  const close = async (): Promise<void> => {
    try {
      await (await opening)?.close()
    } catch {
      // Nobody is left to tell.
    }
  }
  return Object.assign(get, { close })
}
