import type { InstallResult } from '../../app/api.ts'
import { install } from '../../operations/install.ts'
import { uninstall } from '../../operations/uninstall.ts'
import { commandFor, shown } from './command.ts'
import { presentInstall, presentUninstall } from './present-install.ts'

export const installCommand = commandFor(install, 'install', 'Look after it', { present: shown<InstallResult>(presentInstall) })

export const uninstallCommand = commandFor(uninstall, 'uninstall', 'Look after it', { present: shown<InstallResult>(presentUninstall) })
