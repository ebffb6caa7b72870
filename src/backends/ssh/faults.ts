import { failure, type HoldfastError } from '../../core/errors.ts'

/** Where a connection leads, for the sentences about it. */
export interface Place {
  /** `ssh box`. */
  readonly title: string
  /** As the person names it. */
  readonly host: string
  readonly hostname: string
  readonly port: number
  readonly user: string
  /** Jump hosts on the way. */
  readonly jump: string | undefined
  /** What a person types to get there. */
  readonly byHand: string
}

/** What `ssh -G` said where it could not read the configuration. */
export function configFault(said: string, title: string): HoldfastError {
  const lines = linesOf(said).filter((line) => !/^terminating, /.test(line))
  return failure('backend_refused', { target: title, what: 'the configuration of ssh', why: lines.slice(0, 3).join('; ') || 'ssh -G failed' })
}

type Fault = (place: Place, said: string, match: RegExpExecArray) => HoldfastError

/** In the order in which they are looked for: what decides stands before what follows from it. */
const faults: readonly (readonly [RegExp, Fault])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed/,
    (place, said) =>
      failure('host_key_changed', {
        target: place.title,
        key: keyOf(said),
        known: /Offending \S+ key in (\S+)/.exec(said)?.[1] ?? /Add correct host key in (\S+)/.exec(said)?.[1],
        forget: `ssh-keygen -R ${knownName(place)}`,
      }),
  ],
  [
    /WARNING: REVOKED HOST KEY|Host key \S+ was revoked|is marked as revoked/i,
    (place, said) =>
      failure('backend_denied', { target: place.title, why: `the key of the server, ${keyOf(said) ?? 'which it showed'}, is marked as revoked` }),
  ],
  [
    /No \S+ host key is known for (\S+) and you have requested strict checking|Host key verification failed/,
    (place, said, match) => {
      const other = match[1] !== undefined && match[1] !== knownName(place) && match[1] !== place.host ? match[1] : undefined
      return failure('host_key_unknown', { target: place.title, of: other ?? knownName(place), key: keyOf(said), connect: place.byHand })
    },
  ],
  [
    /Too many authentication failures/,
    (place, said) =>
      failure('backend_unauthenticated', {
        target: place.title,
        why: `it had enough of keys that it does not know (${offersOf(said)})`,
        help: 'name the right key in the configuration of ssh: IdentityFile, with IdentitiesOnly yes',
      }),
  ],
  [
    /^(?:(\S+): )?Permission denied \(([^)]*)\)/m,
    (place, said, match) =>
      failure('backend_unauthenticated', {
        target: place.title,
        why: `${match[1] ?? place.user} was not let in; it takes ${match[2]}, ${offersOf(said)}${troublesOf(said)}${overJump(place)}`,
        help: isLocked(said)
          ? lockedHelp
          : 'put the public key into ~/.ssh/authorized_keys of the account, or name the right one (IdentityFile), or load it into the agent (ssh-add); nobody is asked for passwords here',
      }),
  ],
  [
    /Could not resolve hostname (\S+): (.*)/i,
    (place, _, match) =>
      /temporary/i.test(match[2] ?? '')
        ? unreachable(place, `the name ${match[1]} cannot be looked up just now (${match[2]})`, 'see whether this machine has a network')
        : failure('backend_missing', {
            target: place.title,
            what: `host ${match[1]}`,
            why: match[2],
            help: 'correct the name, or add a Host of that name with its HostName to the configuration of ssh',
          }),
  ],
  [
    /connect to (?:host|address) (\S+) port (\d+): (.*)/i,
    (place, _, match) => {
      const why = `${match[1]} port ${match[2]}: ${match[3]}${overJump(place)}`
      return unreachable(
        place,
        why,
        /refused/i.test(match[3] ?? '')
          ? 'see that an SSH server runs there, and that the port is right'
          : 'see that the machine is on, and that the way to it is open (network, VPN, firewall)',
      )
    },
  ],
  [
    /(stdio forwarding failed|open failed: [^\n]*)/,
    (place, _, match) => unreachable(place, `${match[1]}${overJump(place)}`, 'connect to the jump host by hand, and from there to the host'),
  ],
  [
    /Unable to negotiate with [^\n]*?: ([^\n]*)/,
    (place, _, match) => failure('backend_refused', { target: place.title, what: 'what this ssh offers', why: match[1] ?? 'no common method' }),
  ],
  [
    /Connection timed out(?: during banner exchange)?|timed out while waiting|Operation timed out/i,
    (place) => unreachable(place, `nobody answered in time${overJump(place)}`, 'see that an SSH server listens there, or raise connectTimeoutMs of the target'),
  ],
  [
    /kex_exchange_identification: ([^\n]*)|Connection (?:closed|reset) by [^\n]*|Received disconnect from [^\n]*/,
    (place, _, match) =>
      unreachable(
        place,
        `${match[1] ?? match[0]}${overJump(place)}`,
        place.jump === undefined
          ? 'the server may have too many connections at once (MaxStartups): ask again a moment later; or it is no SSH server'
          : `connect to ${place.jump} by hand, and from there to the host`,
      ),
  ],
]

/** What ssh said, at LogLevel DEBUG1, where no connection came about. */
export function connectFault(said: string, place: Place): HoldfastError {
  for (const [pattern, fault] of faults) {
    const match = pattern.exec(said)
    if (match) return fault(place, said, match)
  }
  return unreachable(place, `ssh gave up: ${linesOf(said).at(-1) ?? 'without a word'}`, `try it by hand: ${place.byHand}`)
}

export const unreachable = (place: Place, why: string, help: string): HoldfastError => failure('backend_unavailable', { target: place.title, why, help })

/** The lines that are for people. */
function linesOf(said: string): string[] {
  return said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:debug\d|OpenSSH_)/.test(line))
}

/** The key that the server showed: `ssh-ed25519 SHA256:…`. */
const keyOf = (said: string): string | undefined => /Server host key: (\S+ \S+)/.exec(said)?.[1]

const overJump = ({ jump }: Place): string => (jump === undefined ? '' : ` (the way leads over ${jump})`)

const knownName = ({ hostname, port }: Place): string => (port === 22 ? hostname : `[${hostname}]:${port}`)

function offersOf(said: string): string {
  const offers = [...said.matchAll(/Offering public key: (.*?) (?:[A-Z0-9-]+ )?(SHA256:\S+)(?: (agent|explicit))?/g)].map(
    ([, name, print, how]) => `${name} ${print}${how === 'agent' ? ' of the agent' : ''}`,
  )
  return offers.length > 0 ? `offered was ${offers.slice(0, 5).join(', ')}${offers.length > 5 ? ` and ${offers.length - 5} more` : ''}` : 'no key was offered'
}

const lockedHelp = 'load the key into the agent (ssh-add), which asks for its passphrase; nobody is asked for one here'

/** The server takes a key, and then it is not there to sign with. */
const isLocked = (said: string): boolean => /Server accepts key: /.test(said)

/** What kept keys from being used. */
function troublesOf(said: string): string {
  if (isLocked(said)) return '; it takes that key, which could not be used: it has a passphrase, and no agent has it'
  const troubles = said
    .split('\n')
    .filter((line) => /^(?:Load key|sign_and_send_pubkey|.*UNPROTECTED PRIVATE KEY|Bad permissions|.*no such identity)/i.test(line))
  return troubles.length > 0 ? `; ${troubles.slice(0, 3).join('; ')}` : ''
}
