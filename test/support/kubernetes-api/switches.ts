import type { Denial } from './access.ts'
import type { Pod } from './kube-object.ts'

/** A request, as faults and tests look at it. */
export interface Seen {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly verb: string
  /** With its subresource; empty for paths that are no resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly user: string
}

export interface Refusal {
  readonly status: 401 | 403 | 404 | 409 | 429 | 500 | 503 | 504
  /** How many requests; default: all from now on. */
  times?: number
  /** Which ones; default: all but discovery. */
  readonly matches?: (seen: Seen) => boolean
  readonly retryAfterSeconds?: number
  /** Something that is no Status: what a proxy in between says. */
  readonly html?: boolean
}

/** What goes wrong with an exec. */
export interface ExecFault {
  /** Which commands; default: all. */
  readonly matches?: (argv: readonly string[]) => boolean
  /** How many commands; default: all from now on. */
  times?: number
  /** The connection ends after so many bytes of output; the command goes on. */
  readonly dropAfterBytes?: number
  /** How a connection ends that was dropped or has no status: a close code (1000, 1011), or `abrupt`: no close at all (1006). Default `abrupt`. */
  readonly end?: number | 'abrupt'
  /** `none`: closed without one; `early`: before the last piece of output; `text`: no JSON. */
  readonly status?: 'none' | 'early' | 'text'
  /** Bytes of output in one message. */
  readonly messageBytes?: number
  /** Bytes in one frame: messages come in fragments. */
  readonly fragmentBytes?: number
  /** Output is held back until there is so much, or the end. */
  readonly gatherBytes?: number
  /** After so many bytes of output nothing is sent for a while, or ever; the connection stays. */
  readonly stall?: { readonly afterBytes: number; readonly forMs: number }
}

export interface PodFault {
  /** Which pods; default: all from now on. */
  readonly matches?: (pod: Pod) => boolean
  times?: number
  /** `slow`: it runs after `delayMs`. */
  readonly kind: 'unschedulable' | 'image-never' | 'image-pull' | 'start-error' | 'failed' | 'evicted' | 'slow'
  readonly delayMs?: number
}

/** Read at each request: a test may set them at any time. */
export interface Switches {
  /** What nobody may: requests are forbidden, and reviews say so. */
  denied: Denial[]
  /** How reviews of one's own rights are answered. Default `answer`. */
  reviews: 'answer' | 'forbidden' | 'incomplete'
  /** Exec over WebSocket is a GET; newer servers ask for the right to create as well. Default false. */
  execNeedsCreate: boolean
  /** Subprotocols that exec offers. Default v5 and v4. */
  execProtocols: string[]
  /** How an unknown program is told: as an error of the server (containerd) or by output and status 126 (Docker). Default `error`. */
  unknownProgram: 'error' | 'status'
  refusals: Refusal[]
  execFaults: ExecFault[]
  podFaults: PodFault[]
  watch: {
    /** A watch ends by itself after so long. */
    endAfterMs: number | undefined
    /** So many watches are told at once that their version has expired. */
    expireNext: number
    /** Nothing is told any more. */
    silent: boolean
    bookmarkEveryMs: number
  }
}

export const initialSwitches = (): Switches => ({
  denied: [],
  reviews: 'answer',
  execNeedsCreate: false,
  execProtocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
  unknownProgram: 'error',
  refusals: [],
  execFaults: [],
  podFaults: [],
  watch: { endAfterMs: undefined, expireNext: 0, silent: false, bookmarkEveryMs: 60_000 },
})

/** The first fault that applies, counted down. */
export function takeFault<Fault extends { times?: number }>(faults: Fault[], applies: (fault: Fault) => boolean): Fault | undefined {
  const found = faults.find(applies)
  if (found?.times !== undefined) {
    found.times -= 1
    if (found.times <= 0) faults.splice(faults.indexOf(found), 1)
  }
  return found
}
