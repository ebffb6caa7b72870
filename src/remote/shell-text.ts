/** What each line of ours begins with, among what others print; nobody else can know the nonce. */
export const markOf = (nonce: string): string => `@${nonce} `

/** What programs of ours are looked for in, before anything is known of a site. */
export const toolsPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
