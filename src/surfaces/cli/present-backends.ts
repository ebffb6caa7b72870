import type { BackendsResult } from '../../app/backends.ts'
import type { Capabilities } from '../../core/backend.ts'
import { oneLine } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging, table } from './width.ts'

/** Nothing of it is clipped, since it is what was asked for. */
const wholeTable = 120

/** One row for each capability, one column for each backend; another row where plain mode differs. */
export function presentBackends({ backends }: BackendsResult, { columns }: At): string {
  const names = Object.keys(backends[0]?.supervised ?? {}) as (keyof Capabilities)[]
  const rows = names.flatMap((name) => {
    const plain = backends.map((each) => (each.plain[name] === each.supervised[name] ? '' : said(each.plain[name])))
    return [[name, ...backends.map(({ supervised }) => said(supervised[name]))], ...(plain.every((each) => each === '') ? [] : [['  in plain mode', ...plain]])]
  })
  const here = backends.map(({ backend, usable, detail }) => hanging(`${backend}: `, oneLine(usable ? detail : `cannot be used here: ${detail}`), columns))
  return [table([['', ...backends.map(({ backend }) => backend)], ...rows], Math.max(columns, wholeTable)), '', ...here].join('\n')
}

const said = (value: Capabilities[keyof Capabilities]): string => (value === true ? 'yes' : value === false ? 'no' : value)
