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
  {
    name: 'a headline right above the place that it is about',
    log: `${chatter(300)}Stop-Pool : Cannot find the pool 'amber' because there is none.\nAt /srv/app/deploy.ps1:41 char:5\n+     Stop-Pool -Name $pool\n+     ~~~~~~~~~~~~~~~~~~~~~\n    + CategoryInfo          : ObjectNotFound: (amber:String) [Stop-Pool], ItemNotFoundException\n${chatter(80)}`,
    reason: "Stop-Pool : Cannot find the pool 'amber'",
    more: ['At /srv/app/deploy.ps1:41 char:5'],
  },
  {
    name: 'one grave row of a table in whose other rows names look like trouble',
    log: `${chatter(60)}${many(200, (i) => `│ lib${word(i)}-error │ ADV-${1000 + i} │ ${i === 120 ? 'CRITICAL' : 'LOW'} │ ${i % 9}.1 │ ${word(i * 3)} failure │`)}gate closed\n`,
    reason: 'ADV-1120 │ CRITICAL',
  },
  {
    name: 'a field that tells of a failure at the level of information',
    log: many(400, (i) =>
      i === 222
        ? 'level=info msg="sync result" kind=Deployment name=refund phase=SyncFailed message="the image is immutable"'
        : i % 3 === 0
          ? `level=error msg="metrics push failed" err="connection refused" try=${i}`
          : `level=info msg=applied kind=Secret name=${word(i)}-errors phase=Synced`,
    ),
    reason: 'name=refund phase=SyncFailed',
  },
  {
    name: 'a complaint behind a stream, a module and an ornament',
    log: `${many(300, (i) => `STDOUT [net/${word(i)}] tofu: ${word(i * 3)}_failures: unchanged`)}STDERR [data/cache] tofu: │ Error: creating the replication group: no quota\nSTDERR [data/cache] tofu: │   on main.tf line 14, in resource "cache" "sessions":\n${many(9, (i) => `ERROR  [app/${word(i)}] has finished with an error: one of its dependencies finished with an error`)}${many(60, (i) => `STDOUT [net/${word(i)}] tofu: done`)}`,
    reason: 'Error: creating the replication group',
    more: ['on main.tf line 14'],
  },
  {
    name: 'a warning that is treated as an error',
    log: `${chatter(300)}guide/refund.rst:41: WARNING: undefined label: 'window'\n${chatter(300)}build finished with problems, 1 warning (with warnings treated as errors).\nmake: *** [Makefile:20: html] Error 1\n`,
    reason: "guide/refund.rst:41: WARNING: undefined label: 'window'",
  },
  {
    name: 'one error in the middle of thousands of lines that differ and only look like it',
    log: many(9000, (i) =>
      i === 4500
        ? 'E Runtime: java.lang.IllegalStateException: no window for day 31'
        : `W Net${word(i)}: java.io.IOException: ${word(i * 3)} failed: ECONNREFUSED ${word(i)}${word(i * 7)}${String.fromCharCode(97 + (i % 26))}x${String.fromCharCode(97 + ((i >> 5) % 26))}`,
    ),
    reason: 'no window for day 31',
  },
  {
    name: 'what a configuration tries out before it gives up',
    log: `${many(40, (i) => `conftest.c:54:10: fatal error: ${word(i)}.h: No such file or directory\ncompilation terminated.\nconfigure: failed program was:\n| #include <${word(i)}.h>`)}configure: error: the library of queues is needed for spooling\n${chatter(60)}`,
    reason: 'configure: error: the library of queues is needed',
  },
  {
    name: 'what was expected and received, between lines that go on as before',
    log: `${chatter(200)}Failure: test: last day is accepted(TestRefund)\nledger.rb:9:in 'block in TestRefund'\n<{:day=>30, :state=>:accepted}> expected but was\n<{:day=>30, :state=>:refused}>\n${chatter(100)}`,
    reason: 'Failure: test: last day is accepted',
    more: [':state=>:accepted}> expected but was', '<{:day=>30, :state=>:refused}>'],
  },
  {
    name: 'a failed test above a ladder of targets that only say that they failed',
    log: `${chatter(200)}FAIL: test-refund-window\ntests/window.c:66: expected state 2, got 1\n${many(30, (i) => `XFAIL: test-${word(i)}-broken`)}${many(4, (i) => `make[${4 - i}]: *** [Makefile:${i + 900}: check] Error 1`)}`,
    reason: 'FAIL: test-refund-window',
    more: ['tests/window.c:66: expected state 2, got 1'],
  },
  {
    name: 'a warning that a strict mode ends a build for, before a long clean-up',
    log: `${chatter(200)}WARNING  -  Document 'error-97.md' has a link to '../ops/budget.md' which is not found in the documents.\n${chatter(200)}Aborted with 1 warnings in strict mode!\n${many(60, (i) => ` Container ci-${word(i)}-1  Stopped`)}`,
    reason: "Document 'error-97.md' has a link to '../ops/budget.md'",
  },
  {
    name: 'an exception behind the name of what printed it',
    log: `${many(200, (i) => `heroku[router]: at=error code=H12 desc="Request timeout" path="/${word(i)}"`)}app[release.1]: shop.errors.NotNullViolation: column "window" contains null values\n${many(200, (i) => `heroku[router]: at=error code=H12 desc="Request timeout" path="/${word(i)}"`)}`,
    reason: 'shop.errors.NotNullViolation: column "window"',
  },
  {
    name: 'an assertion that failed before many other words of its trace',
    log: `${chatter(100)}Warning (2072): Unused local variable.\n${chatter(100)}[FAIL: assertion failed: 1 != 0] testLateRefund() (gas: 41220)\n${many(12, (i) => `    ├─ [${i}] Refund::state(${word(i)})`)}Encountered a total of 1 failing tests\n`,
    reason: '[FAIL: assertion failed: 1 != 0] testLateRefund()',
  },
  {
    name: 'a complaint among what is removed and uploaded, whose names look like trouble',
    log: `${chatter(200)} > [ledger] config: LEDGER_KEY must be a PEM block, got 0 bytes\n${chatter(30)}${many(40, (i) => ` - secret "${word(i)}-fatal" deleted\nuploading report ${word(i)}-failure-${i}.xml: 201 Created`)}`,
    reason: 'config: LEDGER_KEY must be a PEM block',
  },
  {
    name: 'what a tool found, without a word of trouble, above the word that the step failed',
    log: `${many(300, (i) => `installed ${word(i)} of ${word(i * 3)}`)}app/ledger_sync.rb:48:9: W: Lint/UselessRescue: rescues in vain.\n    rescue => e\n    ^^^^^^^^^^^\n912 files inspected, 1 offense detected\nProcess completed with exit code 1.\n${many(200, (i) => `artifact ${word(i)} of ${word(i * 3)} is kept`)}`,
    reason: 'app/ledger_sync.rb:48:9: W: Lint/UselessRescue',
  },
  {
    name: 'a timeout by which a runner ends a step',
    log: `${many(300, (i) => `loads${word(i)}() STARTED\n2026-03-04T05:06:07.123 ERROR [kafka-${i % 9}] o.a.k.NetworkClient - connection to ${word(i * 3)} failed`)}Cancelling nested steps due to timeout\n${chatter(120)}`,
    reason: 'Cancelling nested steps due to timeout',
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
