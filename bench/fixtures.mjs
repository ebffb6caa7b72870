import { analytics, issues, pullRequests, toolList } from './fixture-data.mjs'
import { accessLog, buildOutput, compilerErrors, gitLog, testOutput } from './fixture-logs.mjs'
import { documentation, pageSnapshot, requestList } from './fixture-pages.mjs'

/**
 * Fourteen kinds of text that commands of an agent print, and what is asked about each. A question that a text has no answer
 * to is left out of its entry and is not asked.
 *
 * - `exit`: what the command ends with.
 * - `errors`: ways to say how many errors there are; all patterns of one way have to match.
 * - `first`: place and message of the first error; both have to be there.
 * - `last`: where the last line says nothing by itself, the last line with this text is meant.
 * - `middle`: a line in the middle, named by a text that is in no other line.
 */
export const fixtures = [
  { name: 'docs: state', text: documentation({ seed: 1, subject: 'State', bytes: 6_000, language: 'ts' }), exit: 0, middle: 'await scheduleFerry' },
  { name: 'docs: routing', text: documentation({ seed: 2, subject: 'Routing', bytes: 6_600, language: 'tsx' }), exit: 0, middle: '421 unless' },
  { name: 'docs: styling', text: documentation({ seed: 3, subject: 'Styling', bytes: 3_900, language: 'ts' }), exit: 0, middle: '## 4.' },
  { name: 'page snapshot', text: pageSnapshot({ seed: 4, bytes: 57_521 }), exit: 0, middle: 'Put item 52 into' },
  { name: 'network requests', text: requestList(), exit: 0, middle: 'page=1' },
  { name: 'pull requests, JSON', text: pullRequests({ seed: 5, bytes: 6_561 }), exit: 0, last: '"title"', middle: 'Collect the meadow barrel barrel' },
  { name: 'issues, JSON', text: issues({ seed: 6, bytes: 60_310 }), exit: 0, last: '"title"', middle: 'slow with many barrel compass' },
  {
    name: 'test output',
    text: testOutput({ seed: 7, files: 32 }),
    exit: 1,
    errors: [[/\b3 (tests? )?failed\b|\bfailed:? 3\b/i]],
    first: ['test/refund.test.ts:41', 'expected 1250 to be +0'],
    middle: 'schedules the meadow timber',
  },
  {
    name: 'tsc errors',
    text: compilerErrors({ seed: 8, errors: 50 }),
    exit: 2,
    errors: [[/\b50 errors?\b/i]],
    first: ['packages/shop/src/harbour/load.ts(7,26)', 'TS2339'],
    middle: 'copper/collect.ts(20,16)',
  },
  {
    name: 'build output',
    text: buildOutput({ seed: 9, lines: 116 }),
    exit: 2,
    errors: [[/\b2 errors?\b/i]],
    first: ['src/refund/window.ts:41:9', 'TS2345'],
    middle: 'transforming (14) src/collect.ts',
  },
  { name: 'MCP tools, JSON', text: toolList({ seed: 10, bytes: 17_362 }), exit: 0, last: '"name"', middle: 'schedule_willow_marble' },
  {
    name: 'access log',
    text: accessLog({ seed: 11, lines: 500 }),
    exit: 0,
    errors: [
      [/\b14\b[^\n\d]{0,12}(5xx|server errors?)|(5xx|server errors?)[^\n\d]{0,12}\b14\b/i],
      [/\b500\b[^\n\w]{0,4}3\b|\b3 (x |× ?)?500\b/, /\b502\b[^\n\w]{0,4}11\b|\b11 (x |× ?)?502\b/],
    ],
    middle: '/1250 HTTP',
  },
  { name: 'git log', text: gitLog({ seed: 12, commits: 153 }), exit: 0, middle: ' of 76' },
  { name: 'analytics, CSV', text: analytics({ seed: 13, bytes: 87_517 }), exit: 0, middle: '/1265,' },
]
