import type { ConfigResult, DoctorResult, GcResult, StatsResult } from '../../app/api.ts'
import type { BackendsResult } from '../../app/backends.ts'
import { backends } from '../../operations/backends.ts'
import { config } from '../../operations/config.ts'
import { doctor } from '../../operations/doctor.ts'
import { gc } from '../../operations/gc.ts'
import { stats } from '../../operations/stats.ts'
import { commandFor, shown } from './command.ts'
import { presentBackends } from './present-backends.ts'
import { presentConfig, presentDoctor, presentGc } from './present-house.ts'
import { presentStats } from './present-stats.ts'

export const statsCommand = commandFor(stats, 'stats', 'Look after it', { present: shown<StatsResult>(presentStats) })

export const gcCommand = commandFor(gc, 'gc', 'Look after it', { present: shown<GcResult>(presentGc) })

export const doctorCommand = commandFor(doctor, 'doctor', 'Look after it', {
  present: shown<DoctorResult>(presentDoctor),
  exit: (result) => ((result as DoctorResult).ok ? 0 : 1),
})

export const configCommand = commandFor(config, 'config', 'Look after it', { present: shown<ConfigResult>(presentConfig) })

export const backendsCommand = commandFor(backends, 'backends', 'Look after it', { present: shown<BackendsResult>(presentBackends) })
