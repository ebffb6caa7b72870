import { describe, expect, it } from 'vitest'
import { connectFault, type Place } from './faults.ts'

const place: Place = { title: 'ssh box', host: 'box', hostname: 'box.example', port: 2222, user: 'me', jump: undefined, byHand: 'ssh box' }

describe('what ssh says where no connection comes about', () => {
  it.each([
    [
      'ssh: connect to host box.example port 2222: Connection refused',
      'backend_unavailable',
      'box.example port 2222: Connection refused',
      'SSH server runs there',
    ],
    ['ssh: connect to host box.example port 2222: No route to host', 'backend_unavailable', 'No route to host', 'firewall'],
    ['ssh: connect to host box.example port 2222: Connection timed out', 'backend_unavailable', 'Connection timed out', 'machine is on'],
    [
      'Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out',
      'backend_unavailable',
      'nobody answered in time',
      'connectTimeoutMs',
    ],
    ['ssh: Could not resolve hostname box.example: Name or service not known', 'backend_missing', 'there is no host box.example', 'HostName'],
    ['ssh: Could not resolve hostname box.example: Temporary failure in name resolution', 'backend_unavailable', 'cannot be looked up just now', 'network'],
    ['kex_exchange_identification: read: Connection reset by peer', 'backend_unavailable', 'Connection reset by peer', 'MaxStartups'],
    [
      'Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa',
      'backend_refused',
      'no matching host key type',
      undefined,
    ],
    ['Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures', 'backend_unauthenticated', 'had enough of keys', 'IdentitiesOnly'],
    ['something never heard of', 'backend_unavailable', 'something never heard of', 'try it by hand: ssh box'],
    ['', 'backend_unavailable', 'without a word', 'try it by hand'],
  ])('%s', (said, reason, message, remedy) => {
    const error = connectFault(`OpenSSH_9.2p1\ndebug1: Connecting to box.example\n${said}\n`, place)
    expect(error.details.reason).toBe(reason)
    expect(error.message).toContain(message)
    if (remedy !== undefined) expect(error.details.remedy).toContain(remedy)
  })

  it('names the jump host where the way leads over one', () => {
    const said = 'channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\nConnection closed by UNKNOWN port 65535'
    expect(connectFault(said, { ...place, jump: 'gate' }).message).toContain('open failed: connect failed: Connection refused (the way leads over gate)')
    const gate = connectFault('me@gate: Permission denied (publickey,password).\nConnection closed by UNKNOWN port 65535', { ...place, jump: 'gate' })
    expect(gate).toMatchObject({ code: 'unauthenticated', message: expect.stringContaining('me@gate was not let in; it takes publickey,password') })
  })

  it('tells which keys were offered, and what kept others from it', () => {
    const said = [
      'debug1: Offering public key: /home/me/.ssh/id_ed25519 ED25519 SHA256:abc agent',
      'debug1: Offering public key: /home/me/.ssh/other RSA SHA256:def explicit',
      'Load key "/home/me/.ssh/third": bad permissions',
      'me@box.example: Permission denied (publickey).',
    ].join('\n')
    const { message } = connectFault(said, place)
    expect(message).toContain('offered was /home/me/.ssh/id_ed25519 SHA256:abc of the agent, /home/me/.ssh/other SHA256:def; Load key')
  })
})
