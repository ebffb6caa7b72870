import { describe, expect, it } from 'vitest'
import { byteLength, splitLines } from '../core/text.ts'
import { digestLog } from './digest.ts'
import { textSection } from './log.ts'

const words = 'amber basin cedar delta ember fjord grove heron inlet jetty knoll larch maple north ocean pearl quartz ridge slate thorn'.split(' ')
const word = (i: number): string => words[i % words.length] as string
const many = (count: number, line: (i: number) => string): string => Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('')
const chatter = (count: number): string => many(count, (i) => `compiled ${word(i)} with ${word(i * 7 + 3)} in ${i % 90} ms`)
const stampAt = (i: number): string => `2026-03-04T05:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}.123Z`
const stamped = (text: string): string =>
  splitLines(text)
    .map((line, i) => `${stampAt(i)} ${line}\n`)
    .join('')

const digest = (text: string, budget: number): string =>
  digestLog([{ name: 'stdout', sections: [textSection(text)], bytes: byteLength(text), lines: splitLines(text).length, droppedBytes: 0 }], {
    budget,
    failed: true,
  })

interface Kind {
  readonly name: string
  readonly log: string
  /** What the smallest digest holds. */
  readonly reason: string
  /** What one of a kilobyte holds besides. */
  readonly more?: readonly string[]
}

const trace = (count: number): string => many(count, (i) => `\tat java.base/java.util.${word(i)}.Call.run(Call.java:${i + 10})`)

const kinds: readonly Kind[] = [
  {
    name: 'an exception in the middle, after hundreds that were expected and end in passing tests',
    log: `${many(300, (i) => `Running com.acme.${word(i)}Test\n12:00:00.001 [main] ERROR c.a.${word(i)} - rejected ${word(i * 3)}\njava.lang.IllegalStateException: no ${word(i)}\n${trace(3)}Tests run: 4, Failures: 0, Errors: 0, Skipped: 0`)}Running com.acme.WindowTest\nTests run: 9, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE!\nlateRefund(com.acme.WindowTest)  <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <a> but was: <b>\n${trace(5)}\tat com.acme.WindowTest.lateRefund(WindowTest.java:88)\n${many(300, (i) => `Running com.acme.more.${word(i)}Test\n12:00:00.001 [main] ERROR c.a.${word(i)} - rejected ${word(i * 3)}\nTests run: 4, Failures: 0, Errors: 0, Skipped: 0`)}`,
    reason: 'lateRefund(com.acme.WindowTest)',
    more: ['expected: <a> but was: <b>', 'WindowTest.java:88'],
  },
  {
    name: 'a refusal that was retried with success, and one that was not',
    log: `${many(60, (i) => `fetch ${word(i)}: connection refused, retrying in 5 s\nfetched ${word(i)} at the second attempt`)}${chatter(400)}fetch registry index: connection refused\ngiving up after 5 attempts\n${chatter(300)}`,
    reason: 'fetch registry index: connection refused',
    more: ['giving up after 5 attempts'],
  },
  {
    name: 'the first cause before hundreds that follow from it',
    log: `${chatter(200)}cp: cannot stat 'gen/schema.h': No such file or directory\n${many(200, (i) => `${word(i)}/part${i}.c:3:10: fatal error: schema.h: No such file or directory\ncompilation terminated.`)}make: *** [all] Error 2\n`,
    reason: "cp: cannot stat 'gen/schema.h'",
    more: ['make: *** [all] Error 2'],
  },
  {
    name: 'one line of JSON among many that tell of errors',
    log: many(900, (i) =>
      i === 500
        ? '{"level":"error","ts":"2026-03-04T05:06:07Z","logger":"setup","msg":"unable to start manager","error":"listen tcp :8080: bind: address already in use"}'
        : `{"level":"${i % 3 === 0 ? 'error' : 'info'}","ts":"2026-03-04T05:06:${i % 60}Z","logger":"controller.${word(i)}","msg":"reconciler error","error":"object ${word(i * 3)} was modified, try again"}`,
    ),
    reason: '"logger":"setup"',
  },
  {
    name: 'numbers for levels',
    log: many(
      900,
      (i) => `{"level":${i === 611 ? 60 : 30},"time":${1_790_000_000_000 + i},"msg":"${i === 611 ? 'window 31 is outside 0..30' : `served ${word(i)}`}"}`,
    ),
    reason: 'window 31 is outside 0..30',
  },
  {
    name: 'a trace whose lines stand between those of other containers',
    log: many(900, (i) => {
      const trouble = [
        'Traceback (most recent call last):',
        '  File "/app/shop/settings.py", line 77, in require',
        '    raise ImproperlyConfigured(name)',
        'shop.exceptions.ImproperlyConfigured: REFUND_DAYS must be set',
      ]
      const at = i - 500
      return at >= 0 && at < 12 && at % 3 === 0 ? `worker-1  | ${trouble[at / 3]}` : `web-1     | GET /${word(i)} 200 error=none`
    }),
    reason: 'worker-1  | Traceback',
    more: ['settings.py", line 77', 'REFUND_DAYS must be set'],
  },
  {
    name: 'a step that failed below steps that only ignored an error',
    log: `${many(60, (i) => `TASK [${word(i)} : check] ****\nfatal: [web]: FAILED! => {"cmd": "is-active ${word(i)}"}\n...ignoring\n`)}TASK [nginx : validate] ****\nok: [web]\nfatal: [db]: FAILED! => {"cmd": "nginx -t", "stderr": "unknown directive"}\n\n${many(60, (i) => `TASK [${word(i)} : again] ****\nfatal: [web]: FAILED! => {"cmd": "is-active ${word(i)}"}\n...ignoring\n`)}`,
    reason: 'fatal: [db]: FAILED! => {"cmd": "nginx -t"',
    more: ['TASK [nginx : validate]'],
  },
  {
    name: 'a service that does not start, in the journal of a machine',
    log: many(900, (i) => {
      const at = `Mar  4 05:06:${String(i % 60).padStart(2, '0')} edge`
      if (i === 450) return `${at} shop[42]: panic: config: unknown key "listen_adress"`
      if (i === 452) return `${at} systemd[1]: shop.service: Failed with result 'exit-code'.`
      return i % 2 === 0
        ? `${at} resolved[9]: Server returned error NXDOMAIN for ${word(i)}.local`
        : `${at} systemd[1]: ${word(i)}.service: Failed to read PID file yet, will retry`
    }),
    reason: 'unknown key "listen_adress"',
    more: ["shop.service: Failed with result 'exit-code'."],
  },
  {
    name: 'a message that a test printed before the word that it failed',
    log: `${many(300, (i) => `=== RUN   Test${word(i)}${i}\n    ${word(i)}_test.go:9: error from ${word(i)} is as expected\n--- PASS: Test${word(i)}${i} (0.00s)`)}=== RUN   TestBalance\n    ledger_test.go:142: got 1250, want 0\n--- FAIL: TestBalance (0.02s)\nFAIL\nFAIL\tacme.dev/ledger\t0.1s\n${chatter(200)}`,
    reason: '--- FAIL: TestBalance',
    more: ['ledger_test.go:142: got 1250, want 0'],
  },
  {
    name: 'a warning where nothing is called an error',
    log: `${chatter(500)}[warn] src/window.ts\n[warn] Code style issues found in the file above. Run with --write to fix.\n`,
    reason: 'Code style issues found',
    more: ['src/window.ts'],
  },
  {
    name: 'a crash far above a long clean-up',
    log: `${many(500, (i) => `[exec-${i % 9}] ERROR shop.${word(i)} - ${word(i * 3)} failed, fallback used`)}# A fatal error has been detected by the runtime:\n#\n#  SIGSEGV (0xb) at pc=0x00007f41\n# Problematic frame:\n# C  [libimaging.so+0xbd080]  decode_tiff+0x1f4\n${many(900, (i) => `drained connection ${i}, errors=0 in ${word(i)}`)}`,
    reason: 'A fatal error has been detected',
    more: ['decode_tiff+0x1f4'],
  },
  {
    name: 'source code with errors in it, printed before a failure',
    log: `${many(400, (i) => `src/${word(i)}/${word(i * 3)}.ts:${i + 1}:  throw new Error("could not ${word(i)}")`)}${many(100, (i) => `+ rm -rf /tmp/${word(i)} # error ignored`)}curl: (22) The requested URL returned error: 404\n${many(200, (i) => `+ rm -rf /tmp/${word(i)} # error ignored`)}`,
    reason: 'curl: (22) The requested URL returned error: 404',
  },
]

describe.each([
  ['as it is', (text: string): string => text],
  ['with a time before each line', stamped],
])('the digest of a log %s', (_, wrapped) => {
  it.each(kinds)('holds $name', ({ log, reason, more = [] }) => {
    expect(digest(wrapped(log), 512)).toContain(reason)
    const roomy = digest(wrapped(log), 1024)
    for (const part of [reason, ...more]) expect(roomy).toContain(part)
  })
})
