/** What each line of ours begins with, among what others print; nobody else can know the nonce. */
export const markOf = (nonce: string): string => `@${nonce} `

/** What programs of ours are looked for in, before anything is known of a site. */
export const toolsPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Stands before a line of ours among the output of a command. It is what hardly any output ends with (RECORD SEPARATOR), since what may be the
 * beginning of such a line has to wait for more.
 */
export const beforeLine = '\x1e'
/** The same for printf. */
export const beforeLinePrinted = '\\036'
