import type { BackendsResult } from '../../app/backends.ts'
import type { Capabilities } from '../../core/backend.ts'
import { oneLine } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging, table } from './width.ts'

/** Nothing of it is clipped, since it is what was asked for. */
const wholeTable = 120

/** One row for each capability, one column for each backend. Where plain mode differs, it stands behind a slash. */
export function presentBackends({ backends }: BackendsResult, { columns }: At): string {
  const names = Object.keys(backends[0]?.supervised ?? {}) as (keyof Capabilities)[]
  const rows = names.map((name) => [name, ...backends.map(({ supervised, plain }) => both(said(supervised[name]), said(plain[name])))])
  const here = backends.map(({ backend, usable, detail }) => hanging(`${backend}: `, oneLine(usable ? detail : `cannot be used here: ${detail}`), columns))
  return [
    table([['', ...backends.map(({ backend }) => backend)], ...rows], Math.max(columns, wholeTable)),
    'With a supervisor/in plain mode, where that differs.',
    '',
    ...here,
  ].join('\n')
}

const both = (supervised: string, plain: string): string => (supervised === plain ? supervised : `${supervised}/${plain}`)

const said = (value: Capabilities[keyof Capabilities]): string => (value === true ? 'yes' : value === false ? 'no' : value)
