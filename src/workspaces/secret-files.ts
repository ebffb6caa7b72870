import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Files that hold secrets of a person, by their names. */
const secretNames =
  /^(?:\.env(?:\..+|rc)?|.+\.env|\.npmrc|\.yarnrc(?:\.yml)?|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.htpasswd|\.dockercfg|\.vault-token|\.terraformrc|id_(?:rsa|dsa|ecdsa|ed25519)|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|tfvars)|(?:credentials|secrets?|service-account[^/]*)(?:\.(?:json|ya?ml|toml|ini|txt))?)$/i
/** Everything in them is one. */
const secretFolders = /^\.(?:ssh|aws|gnupg|kube|docker|azure|gcloud|secrets?)$/i
/** What their tools put there comes from registries; a bundle of certificates in them is no secret of anybody. */
const dependencyFolders = new Set(['node_modules', '.venv', 'venv', 'vendor', 'target', 'site-packages', '.tox', 'Pods', '.gradle', '.bundle'])
/** Examples that are there to be copied and filled in. */
const examples = /\.(?:example|sample|template|dist|pub)$/i

export function isSecretFile(path: string): boolean {
  const folders = path.split('/').slice(0, -1)
  if (folders.some((folder) => dependencyFolders.has(folder))) return false
  const name = basename(path)
  return !examples.test(name) && (secretNames.test(name) || folders.some((folder) => secretFolders.test(folder)))
}

/** Whether anything in a folder below `root` is one. Links are not followed; what cannot be read is none. */
export function holdsSecretFile(root: string, folder: string): boolean {
  if (folder.split('/').some((part) => dependencyFolders.has(part))) return false
  try {
    return readdirSync(join(root, folder), { withFileTypes: true }).some((entry) => {
      const path = `${folder}/${entry.name}`
      return entry.isDirectory() ? holdsSecretFile(root, path) : isSecretFile(path)
    })
  } catch {
    return false
  }
}

/** Whether a list of patterns has the file by its name, not by a wildcard or by the folder that holds it. */
export function isNamedIn(patterns: string, path: string): boolean {
  return patterns.split('\n').some((line) => {
    const pattern = line.trimEnd()
    if (pattern === '' || /^[#!]|[*?[\\]|\/$/.test(pattern)) return false
    return pattern.includes('/') ? pattern.replace(/^\//, '') === path : pattern === basename(path)
  })
}
