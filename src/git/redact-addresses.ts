/**
 * Text of git without the secrets that addresses hold: `https://user:token@host` becomes `https://***@host`, and values of parameters that
 * are named like a secret and headers of authorization are left out. The name in `ssh://git@host` is none and stays.
 */
export function redactAddresses(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]*):\/\/([^\s/?#'"<>]*)@/gi, (_, scheme: string, user: string) => `${scheme}://${shownUser(scheme, user)}@`)
    .replace(/([?&](?:[\w-]*(?:token|secret|password|passwd|key|sig|signature|auth)[\w-]*)=)[^\s&#'"]+/gi, '$1***')
    .replace(/\b((?:proxy-)?authorization|private-token|job-token)(:|=)[^\S\n]*[^\n'"]+/gi, '$1$2 ***')
}

function shownUser(scheme: string, user: string): string {
  if (/^https?$|^ftps?$/i.test(scheme)) return '***'
  const end = user.indexOf(':')
  return end === -1 ? user : `${user.slice(0, end)}:***`
}
