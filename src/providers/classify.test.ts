import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { classifyProviderError } from './classify.ts'
import { guidance, maxRetryAfterMs, type ProviderErrorClass, providerErrorClasses } from './provider-error.ts'

const now = Date.parse('2026-11-30T12:00:00Z')
const classOf = (error: unknown): ProviderErrorClass => classifyProviderError(error, { now }).class
const withCode = (message: string, code: string, more: object = {}): Error => Object.assign(new Error(message), { code }, more)

describe('an error of a model provider', () => {
  it.each([
    ['an error of an SDK, with its status', Object.assign(new Error('529 Overloaded'), { name: 'InternalServerError', status: 529 }), 'server'],
    ['a cause below a cause', new TypeError('fetch failed', { cause: new Error('connect', { cause: withCode('getaddrinfo', 'ENOTFOUND') }) }), 'network'],
    [
      'a certificate below a failed fetch',
      new TypeError('fetch failed', { cause: withCode('unable to verify', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE') }),
      'certificate',
    ],
    ['an AggregateError of attempts', new AggregateError([withCode('connect', 'ECONNREFUSED'), withCode('connect', 'ECONNREFUSED')], ''), 'connection'],
    [
      'the last error of a retrying SDK',
      Object.assign(new Error('Failed after 3 attempts'), { lastError: { statusCode: 429, message: 'slow down' } }),
      'rate-limit',
    ],
    ['an AWS error with metadata', Object.assign(new Error('denied'), { name: 'ThrottlingException', $metadata: { httpStatusCode: 400 } }), 'rate-limit'],
    ['a Response', new Response('', { status: 503 }), 'server'],
    ['status and body', { status: 400, headers: {}, body: '{"error":{"code":"context_length_exceeded","message":"too much"}}' }, 'context-overflow'],
    [
      'the type of an AWS error in a header',
      { status: 400, headers: { 'x-amzn-errortype': 'ThrottlingException:http://internal/' }, body: '{}' },
      'rate-limit',
    ],
    ['a body alone', { error: { type: 'overloaded_error', message: 'Overloaded' } }, 'server'],
    ['a page of a proxy', '<!DOCTYPE html><html><head><title>example.org | 524: A timeout occurred</title></head><body>Contact us.</body></html>', 'server'],
    ['JSON in JSON that is cut off', '{"error":{"message":"{\\"error\\":{\\"code\\":429,\\"status\\":\\"RESOURCE_EXHA', 'rate-limit'],
  ] as const)('is read from %s', (_, error, expected) => {
    expect(classOf(error)).toBe(expected)
  })

  it.each([
    'used 15003 tokens',
    'port 5000 in use',
    'author name missing',
    'accounting module failed',
    '500 tests passed, 429 files changed',
    'line 503: unexpected indent',
    'the server room is locked',
    '404 lines of code',
    'error in 502 files',
    'TypeError: x is undefined',
    '',
  ])('is not seen in "%s"', (text) => {
    expect(classifyProviderError(text, { now })).toEqual({ class: 'unknown', ...guidance.unknown, retryAfterMs: null, status: null, evidence: null })
  })

  it.each([
    ['503', 503],
    ['Error: 429 {"type":"error"}', 429],
    ['API Error (529 {"type":"error"})', 529],
    ['HTTP/1.1 429 Too Many Requests', 429],
    ['Request failed with status code 401', 401],
    ['unexpected status 502 Bad Gateway: error code: 502', 502],
    ['Request rejected (429)', 429],
    ['[503] the gateway says no', 503],
    ['HttpError 503', 503],
    ['The provider responded with 500', 500],
    ['Received 502 from upstream', 502],
    ["Error code: 400 - {'error': {'code': 400}}", 400],
    ["Server error '503 Service Unavailable' for url 'https://example.org/v1'", 503],
    ['{"error":{"code":429,"status":"Too Many Requests"}}', 429],
    ['used 503 of 504 tokens', null],
    ['error: 500 items not processed', null],
    ['returned 429 rows', null],
    ['failed after 500 ms', null],
    ['listen EADDRINUSE: address already in use :::5000', null],
    ["no such file or directory, open '/tmp/429'", null],
    ['Limit 500, Used 429, Requested 503', null],
  ])('has the status that stands where one stands: %s', (text, status) => {
    expect(classifyProviderError(text).status).toBe(status)
  })

  it('is not judged by the request that it carries', () => {
    const error = Object.assign(new Error('boom'), {
      requestBodyValues: { messages: [{ content: 'rate limit exceeded, 429' }] },
      config: { url: 'x', data: 'ECONNRESET' },
    })
    expect(classOf(error)).toBe('unknown')
  })

  it('that came with an answer is not one of the connection', () => {
    expect(classOf('503 upstream connect error: connection refused ECONNREFUSED')).toBe('server')
    expect(classOf({ status: 400, body: 'Unterminated string in JSON at position 3' })).toBe('bad-request')
  })

  it('says what decided', () => {
    expect(classifyProviderError({ status: 400, body: '{"code":"context_length_exceeded"}' }).evidence).toEqual({
      kind: 'code',
      found: 'context_length_exceeded',
      table: 'openai',
    })
    expect(classifyProviderError({ status: 418 }).evidence).toEqual({ kind: 'status', found: '418', table: 'http' })
  })
})

describe('whatever comes in', () => {
  const parts = [
    '429',
    '503 ',
    '{"error":',
    '"code":',
    'try again in ',
    '9e99s',
    '-5',
    'NaN',
    ' resets at 99:99',
    '\\"',
    'RESOURCE_EXHAUSTED',
    '<html>',
    '\u0000',
    'ü',
    '🙂',
    '\n',
    "'",
    '}}',
    'retry-after: ',
    '1e400',
    'ECONNRESET',
  ]

  it('is classified, with a delay that is null or within its bounds', () => {
    const { int, pick } = random(20261130)
    for (let round = 0; round < 300; round += 1) {
      const text = Array.from({ length: int(0, 12) }, () => pick(parts)).join('')
      const forms = [
        text,
        new Error(text),
        { status: int(0, 700), headers: { 'retry-after': pick(parts), 'x-ratelimit-reset': pick(parts) }, body: text },
        { [pick(parts)]: text, resets_at: pick(parts) },
      ]
      for (const form of forms) {
        const { class: kind, retryAfterMs } = classifyProviderError(form, { now })
        expect(providerErrorClasses).toContain(kind)
        if (retryAfterMs !== null) expect(retryAfterMs >= 0 && retryAfterMs <= maxRetryAfterMs, `${text} gives ${retryAfterMs}`).toBe(true)
      }
    }
  })

  const loop: Record<string, unknown> = { message: 'x' }
  loop.cause = loop
  const hostile = {
    get message(): string {
      throw new Error('no')
    },
    status: 429,
  }
  const proxy = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no')
      },
    },
  )

  it.each([
    [undefined],
    [null],
    [0],
    [Number.NaN],
    [true],
    [Symbol('x')],
    [() => 1],
    [[]],
    [[[[]]]],
    [loop],
    [hostile],
    [proxy],
    [new Date()],
    [new Map()],
    [Object.create(null)],
  ])('does not make it throw: case %#', (error) => {
    expect(() => classifyProviderError(error)).not.toThrow()
  })

  it('takes time that grows no faster than its length: a megabyte of what patterns begin with', () => {
    for (const part of [
      'a',
      '{',
      '"',
      "'",
      '\\',
      ' ',
      '\n',
      '<',
      '4',
      'try again in ',
      'context window ',
      'model ',
      '"a":"',
      'A_',
      'retry after 1 1 1 ',
      '(',
      'error ',
    ]) {
      const text = part.repeat(Math.ceil(1_000_000 / part.length))
      // No bound in time: a pattern that is not linear would not come back within the time of the test.
      expect(providerErrorClasses).toContain(classOf(text))
      expect(providerErrorClasses).toContain(classOf({ status: 400, body: { error: { message: text, code: text } } }))
    }
  })
})
