import { capital, dice, isoAt, people, untilBytes, verbs } from './fixture-words.mjs'

const user = (login) => ({ login, id: login.length * 7919, type: 'User', url: `https://git.example.test/users/${login}` })

/** As many records as fit into so many bytes of indented JSON. */
function records(bytes, make) {
  const list = []
  for (let size = 0; size < bytes - 200; size = Buffer.byteLength(JSON.stringify(list, null, 2))) list.push(make(list.length))
  return `${JSON.stringify(list, null, 2)}\n`
}

export function pullRequests({ seed, bytes }) {
  const { whole, pick, hex, phrase } = dice(seed)
  return records(bytes, (i) => ({
    number: 1190 - i * 3,
    title: `${capital(pick(verbs))} the ${phrase(3)}`,
    state: pick(['open', 'merged', 'closed']),
    author: user(pick(people)),
    head: { ref: `topic/${phrase(2).replaceAll(' ', '-')}`, sha: hex(40) },
    additions: whole(1, 900),
    deletions: whole(0, 400),
    createdAt: isoAt(i * -5000),
  }))
}

export function issues({ seed, bytes }) {
  const { whole, pick, phrase } = dice(seed)
  return records(bytes, (i) => ({
    number: 2400 - i,
    title: `${capital(phrase(2))}: ${pick(['wrong total after', 'slow with many', 'crash without', 'unclear text for'])} ${phrase(2)}`,
    state: pick(['open', 'open', 'closed']),
    user: user(pick(people)),
    labels: [pick(['bug', 'feature', 'question']), `area/${pick(verbs)}`],
    comments: whole(0, 40),
    createdAt: isoAt(i * -9000),
    body: `Steps:\n\n1. Open the ${phrase(2)}\n2. ${capital(pick(verbs))} the ${phrase(3)}\n\nExpected: ${phrase(5)}.\nGot: ${phrase(8)}.\n\nVersion 4.${whole(0, 20)}.${whole(0, 9)}, ${phrase(12)}.`,
  }))
}

/** What a server says to tools/list. */
export function toolList({ seed, bytes }) {
  const { whole, pick, phrase } = dice(seed)
  const tools = []
  const text = () => JSON.stringify({ tools }, null, 2)
  while (Buffer.byteLength(text()) < bytes - 350) {
    const name = `${pick(verbs)}_${phrase(2).replaceAll(' ', '_')}`
    tools.push({
      name,
      description: `${capital(phrase(9))}. ${capital(phrase(6))}.`,
      inputSchema: {
        type: 'object',
        properties: {
          [`${pick(verbs)}By`]: { type: 'string', description: capital(phrase(6)) },
          limit: { type: 'integer', minimum: 1, maximum: whole(10, 500), description: capital(phrase(4)) },
        },
        required: ['limit'],
      },
    })
  }
  return `${text()}\n`
}

/** One row an event. */
export function analytics({ seed, bytes }) {
  const { whole, pick, hex, phrase } = dice(seed)
  const row = (i) =>
    `${isoAt(i * 61)},${hex(12)},${pick(['view', 'click', 'basket', 'order'])},/${phrase(2).replaceAll(' ', '/')}/${1000 + i},${pick(['desktop', 'phone', 'tablet'])},${pick(['DE', 'FR', 'JP', 'BR', 'KE'])},${whole(10, 9000)},${whole(0, 1)},https://${phrase(1)}.example.test/${phrase(2).replaceAll(' ', '-')}?campaign=${phrase(2).replaceAll(' ', '-')}-${whole(100, 999)}&place=${phrase(1)}\n`
  return untilBytes(bytes, 'time,session,event,path,device,country,duration_ms,first_visit,referrer\n', row)
}
