import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A CA of its own in a folder, the server's certificate, and certificates for users. */
export interface Authority {
  readonly caFile: string
  readonly ca: Buffer
  readonly server: { readonly cert: Buffer; readonly key: Buffer }
  /** For a user, in groups. */
  issue(name: string, groups?: readonly string[]): { readonly certFile: string; readonly keyFile: string }
}

export function makeAuthority(folder: string): Authority {
  const file = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=fake-cluster-ca', '-keyout', file('ca.key'), '-out', file('ca.crt'))
  let serial = 1
  const sign = (name: string, subject: string, extensions: string): { certFile: string; keyFile: string } => {
    const [keyFile, request, certFile] = [file(`${name}.key`), file(`${name}.csr`), file(`${name}.crt`)] as const
    serial += 1
    openssl('req', ...newKey, '-subj', subject, '-keyout', keyFile, '-out', request)
    writeFileSync(file(`${name}.ext`), extensions)
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      file('ca.crt'),
      '-CAkey',
      file('ca.key'),
      '-set_serial',
      String(serial),
      '-days',
      '2',
      '-extfile',
      file(`${name}.ext`),
      '-out',
      certFile,
    )
    return { certFile, keyFile }
  }
  const own = sign('server', '/CN=kubernetes', 'subjectAltName=DNS:kubernetes,DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n')
  return {
    caFile: file('ca.crt'),
    ca: readFileSync(file('ca.crt')),
    server: { cert: readFileSync(own.certFile), key: readFileSync(own.keyFile) },
    issue: (name, groups = []) => sign(`user-${serial}`, `${groups.map((group) => `/O=${group}`).join('')}/CN=${name}`, 'extendedKeyUsage=clientAuth\n'),
  }
}
