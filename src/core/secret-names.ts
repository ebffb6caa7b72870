/** Which variables hold secrets: judged by name, and by credentials inside a URL. */

const secretWords = new Set(
  `key keys apikey apikeys token tokens secret secrets password passwords passwd pass passphrase passcode pwd pw credential credentials creds cred
   auth authorization bearer cookie cookies private jwt pat oauth connectionstring connstr`.split(/\s+/),
)
const secretEndings =
  /(?:password|passwd|passphrase|secret|token|credentials?|(?:api|access|secret|private|encryption|signing|master|auth|ssh|deploy|account)keys?|(?:ssh|db|user|smtp|ftp|pg|mysql|redis|root|admin)(?:pass|pwd))$/
// What such a variable holds is about a secret, or tells where one is, and is no secret itself.
const harmlessEndings = new Set(
  `sock file path dir directory home url uri host hostname port user username endpoint domain name type method mode enabled disabled ttl expiry expires
   timeout length size count limit prefix algorithm region version provider program command helper socket`.split(/\s+/),
)
const harmlessNames = new Set(['PWD', 'OLDPWD', 'GOOGLE_APPLICATION_CREDENTIALS', 'TOKENIZERS_PARALLELISM'])
const tokenCounts = /(?:^|_)(?:MAX|MIN|NUM|TOTAL|INPUT|OUTPUT|CONTEXT|COMPLETION|PROMPT|THINKING)_(?:\w+_)?TOKENS(?:_|$)/i

/**
 * Whether a variable of this name is taken to hold a secret. Whole words count, so AUTHOR, MONKEY, KEYBOARD and
 * PASSENGER do not; nor do names that end in what only points at a secret (SSH_AUTH_SOCK, KEY_FILE), nor PUBLIC_KEY.
 */
export function looksSecret(name: string): boolean {
  if (name.length > 256 || harmlessNames.has(name) || /^GIT_CONFIG_KEY_\d+$/.test(name) || tokenCounts.test(name)) return false
  const words = wordsOf(name)
  const last = words.findLast((word) => !/^\d+$/.test(word)) ?? ''
  if (words.includes('connection') && last === 'string') return true
  if (harmlessEndings.has(last) || words.includes('public') || words.includes('publishable')) return false
  return words.some((word) => secretWords.has(word) || secretEndings.test(word))
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .flatMap((word) => [word, word.replace(/\d+$/, '')])
    .filter((word) => word !== '')
}

/** Turns a glob in which `*` stands for any characters into a test of whole names; case does not matter. */
export function nameMatcher(globs: readonly string[]): (name: string) => boolean {
  // Runs of stars become one, so that no two unbounded parts stand side by side.
  const patterns = globs.map((glob) => new RegExp(`^${glob.split(/\*+/).map(escapePattern).join('.*')}$`, 'is'))
  return (name) => patterns.some((pattern) => pattern.test(name))
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/**
 * The secret values of an environment: of variables whose names look secret or match a glob of `names`, and the
 * passwords of URLs in any variable. Values that are a path of this machine in form are left out only through their names.
 */
export function secretsOf(env: Readonly<Record<string, string | undefined>>, names: readonly string[] = []): string[] {
  const configured = nameMatcher(names)
  const found = new Set<string>()
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value === '') continue
    if (configured(name) || looksSecret(name)) found.add(value)
    for (const password of urlPasswords(value)) found.add(password)
  }
  return [...found]
}

/** The password of each `scheme://user:password@host`, as written and decoded. */
function urlPasswords(text: string): string[] {
  const found: string[] = []
  for (const match of text.slice(0, 65_536).matchAll(/:\/\/[^\s/:@"'<>]{0,256}:([^\s/?#"'<>]{1,512})@/g)) {
    const password = match[1] as string
    found.push(password)
    try {
      found.push(decodeURIComponent(password))
    } catch {
      // A stray percent sign: the password stands as it is written.
    }
  }
  return found
}
