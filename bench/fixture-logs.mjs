import { capital, dice, isoAt, nouns, people, verbs } from './fixture-words.mjs'

/** A run of Vitest in which three of many tests fail. */
export function testOutput({ seed, files }) {
  const { whole, pick, phrase } = dice(seed)
  const lines = [' RUN  v3.2.4 ~/shop', '']
  for (let i = 0; i < files; i += 1) {
    lines.push(` ✓ test/${nouns[i % nouns.length]}.test.ts (${whole(3, 9)} tests) ${whole(4, 90)}ms`)
    for (let k = whole(2, 4); k > 0; k -= 1) lines.push(`   ✓ ${pick(verbs)}s the ${phrase(2)} ${whole(1, 30)}ms`)
  }
  const failed = [
    { test: 'refunds a late order', message: 'AssertionError: expected 1250 to be +0', line: 41, column: 31 },
    { test: 'refunds a part of an order', message: 'AssertionError: expected 300 to be 250', line: 58, column: 27 },
    { test: 'refuses a second refund', message: "TypeError: Cannot read properties of undefined (reading 'until')", line: 73, column: 18 },
  ]
  lines.splice(
    Math.floor(lines.length * 0.7),
    0,
    ' ❯ test/refund.test.ts (9 tests | 3 failed) 61ms',
    ...failed.map(({ test }) => `   × ${test} ${whole(2, 9)}ms`),
  )
  lines.push('', '⎯⎯⎯⎯⎯⎯⎯ Failed Tests 3 ⎯⎯⎯⎯⎯⎯⎯')
  for (const { test, message, line, column } of failed) {
    lines.push('', ` FAIL  test/refund.test.ts > ${test}`, message, ` ❯ test/refund.test.ts:${line}:${column}`)
    lines.push(
      `     ${line - 1}|   const order = await placed({ days: 31 })`,
      `     ${line}|   expect(await refund(order)).toBe(0)`,
      '       |                               ^',
    )
  }
  lines.push(
    '',
    ` Test Files  1 failed | ${files} passed (${files + 1})`,
    `      Tests  3 failed | 142 passed (145)`,
    '   Start at  08:00:11',
    '   Duration  2.31s',
  )
  return `${lines.join('\n')}\n`
}

/** What the compiler of TypeScript says without --pretty: one line an error, no total. */
export function compilerErrors({ seed, errors }) {
  const { whole, pick } = dice(seed)
  const kinds = [
    () => `TS2322: Type 'string' is not assignable to type '${capital(pick(nouns))}'.`,
    () => `TS2339: Property '${pick(nouns)}' does not exist on type '${capital(pick(nouns))}'.`,
    () => `TS7006: Parameter '${pick(nouns)}' implicitly has an 'any' type.`,
    () => `TS2554: Expected ${whole(2, 3)} arguments, but got 1.`,
  ]
  return Array.from({ length: errors }, (_, i) => {
    const file = `packages/shop/src/${nouns[Math.floor(i / 4) % nouns.length]}/${verbs[Math.floor(i / 4) % verbs.length]}.ts`
    return `${file}(${((i % 4) + 1) * whole(7, 12)},${whole(3, 40)}): error ${pick(kinds)()}\n`
  }).join('')
}

/** A build of many packages of which one fails in the middle, while the others go on. */
export function buildOutput({ seed, lines: count }) {
  const { whole, pick, hex, phrase } = dice(seed)
  const lines = ['• Packages in scope: 14', '• Running build in 14 packages', '• Remote caching disabled']
  const of = (name, text) => `@shop/${name}:build: ${text}`
  while (lines.length < count - 24) {
    const name = pick(nouns)
    const shown = [
      `dist/assets/${pick(verbs)}-${hex(8)}.js ${whole(2, 90)}.${whole(10, 99)} kB`,
      `transforming (${whole(10, 400)}) src/${pick(verbs)}.ts`,
      `warning: "${pick(nouns)}" is imported by src/${pick(verbs)}.ts and never used`,
      `✓ ${phrase(2)} built in ${whole(100, 900)}ms`,
    ]
    lines.push(of(name, pick(shown)))
  }
  const failure = ['src/refund/window.ts:41:9 - error TS2345: Argument of type Date is not assignable to parameter of type Instant.']
  failure.push(
    'src/refund/window.ts:58:3 - error TS2322: Type undefined is not assignable to type boolean.',
    'Found 2 errors.',
    'ELIFECYCLE Command failed with exit code 2.',
  )
  lines.splice(Math.floor(lines.length * 0.45), 0, ...failure.map((text) => of('refund', text)))
  for (let i = 0; i < 14; i += 1) lines.push(of(nouns[i], `wrote dist/${nouns[i]}/index.d.ts`))
  lines.push(
    '',
    ' Tasks:    13 successful, 14 total',
    'Cached:    0 cached, 14 total',
    '  Time:    9.131s',
    'Failed:    @shop/refund#build',
    '',
    ' ERROR  run failed: command exited (2)',
  )
  return `${lines.join('\n')}\n`
}

/** A web server's log; fourteen of its answers are errors of the server. */
export function accessLog({ seed, lines }) {
  const { whole, pick, phrase } = dice(seed)
  const row = (i) => {
    const status = i % 36 === 17 ? (i % 5 === 0 ? 500 : 502) : pick([200, 200, 200, 201, 204, 304, 404])
    const [, hour, minute, second] = /T(\d\d):(\d\d):(\d\d)/.exec(isoAt(i * 7))
    return `10.4.${whole(0, 9)}.${whole(1, 250)} - - [02/Mar/2026:${hour}:${minute}:${second} +0000] "${pick(['GET', 'GET', 'POST'])} /${phrase(1)}/${1000 + i} HTTP/1.1" ${status} ${whole(90, 9000)} "-" "cli/${whole(1, 4)}"\n`
  }
  return Array.from({ length: lines }, (_, i) => row(i)).join('')
}

/** A history of commits, one a line. */
export function gitLog({ seed, commits }) {
  const { pick, hex, phrase } = dice(seed)
  const row = (i) => `${hex(12)} ${isoAt(i * -86_400).slice(0, 10)} ${pick(people)}: ${pick(verbs)} the ${phrase(2)} before the ${phrase(1)} of ${i}\n`
  return Array.from({ length: commits }, (_, i) => row(i)).join('')
}
