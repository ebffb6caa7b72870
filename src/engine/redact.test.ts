import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { stripControls } from '../core/text.ts'
import { createMasker, looksSecret, type Masker, secretsOf, streamMasker } from './redact.ts'

// Made of parts, so that nothing in this file has the form of a secret itself.
const letters = 'Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7dEf0hIj3kLm6nOp9q'
const join = (...parts: string[]): string => parts.join('')
const tokens: Record<string, string> = {
  github: join('gh', 'p_', letters.slice(0, 36)),
  'github oauth': join('gh', 'o_', letters.slice(0, 36)),
  'github fine-grained': join('github', '_pat_', letters.slice(0, 22), '_', letters),
  openai: join('s', 'k-', letters.slice(0, 48)),
  'openai project': join('s', 'k-proj-', letters.slice(0, 30), '_-', letters.slice(0, 8)),
  anthropic: join('s', 'k-ant-api03-', letters, '-', letters.slice(0, 20)),
  'aws id': join('AK', 'IA', 'IOSFODNN7EXAMPL3'),
  google: join('AI', 'za', letters.slice(0, 35)),
  slack: join('xo', 'xb-1234567890-', letters.slice(0, 24)),
  npm: join('np', 'm_', letters.slice(0, 36)),
  gitlab: join('gl', 'pat-', letters.slice(0, 20)),
  stripe: join('s', 'k_live_', letters.slice(0, 24)),
  'stripe restricted': join('r', 'k_live_', letters.slice(0, 24)),
  jwt: join('ey', 'JhbGciOiJIUzI1NiJ9', '.ey', 'JzdWIiOiIxMjM0NTY3ODkwIn0', '.', letters.slice(0, 43)),
}
const plain = createMasker({ secrets: [] })
const header = (kind: string): string => join('-----', 'BEGIN ', kind, 'PRIVATE KEY-----')
const footer = (kind: string): string => join('-----', 'END ', kind, 'PRIVATE KEY-----')
const body = Array.from({ length: 6 }, (_, i) => join('MIIEvQ', letters, String(i), '+/').slice(0, 60))

describe('a masker of token shapes', () => {
  for (const [name, token] of Object.entries(tokens)) {
    it(`masks a token of ${name} wherever it stands`, () => {
      const around = ['', ' ', '"', "'", '(', '=', '\u001b[32m', '\\n', '%20', '/', '\n']
      for (const before of around)
        for (const after of ['', ' ', '"', ')', '\n', '\u001b[0m']) expect(plain.mask(before + token + after)).toBe(`${before}[masked]${after}`)
    })
  }

  it('leaves ordinary text as it is', () => {
    const ordinary = [
      'http://localhost:8080/@vite/client and http://localhost:5173/@fs/home/me',
      'mailto me@example.org:80, git@github.com:owner/name.git, ssh://git@host/x',
      'const token = nextToken(); let secret = options.secret; password: string',
      "error TS1005: unexpected token: ';' expected, Unexpected token } in JSON",
      'max_tokens: 4096, tokens=123456, tokenizer=fast, passwordless=true, monkey=banana1',
      '<div class="sk-circle-fade-dot-wrapper sk-cube-grid-element">',
      'the task-1234-of-the-desk-with-risk-and-disk-12345678901234567890 was done',
      'password: ${PASSWORD} token=$TOKEN secret=<secret> api_key={{ key }} token: "string"',
      'PWD=/home/me/project OLDPWD=/home/me INIT_CWD=/home/me',
      'Basic authentication is needed; the Bearer of bad news; Authorization: required',
      'commit 8843d7f92416211de9ebb963ff4ce28125932878 sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP',
      'at Object.<anonymous> (/a/b/c.test.ts:10:5)',
      'npm_config_registry=https://packages.example.org/',
    ]
    for (const line of ordinary) expect(plain.mask(line)).toBe(line)
  })
})

describe('a masker of assignments and addresses', () => {
  it('masks the value and keeps the name', () => {
    const rows: [string, string][] = [
      ['PASSWORD=hunter22x', 'PASSWORD=[masked]'],
      ['password=hunterxyz', 'password=[masked]'],
      ['{"api_key": "abcdef123456", "user": "me"}', '{"api_key": "[masked]", "user": "me"}'],
      [String.raw`"{\"token\":\"abc123456\",\"user\":\"me\"}"`, String.raw`"{\"token\":\"[masked]\",\"user\":\"me\"}"`],
      ["secret: 'a1b2c3d4e5'", "secret: '[masked]'"],
      ['https://host/x?token=abc123def&y=1', 'https://host/x?token=[masked]&y=1'],
      ['db: postgres://app:p@ss@db.host:5432/app', 'db: postgres://app:[masked]@db.host:5432/app'],
      ['{"db":"postgres:\\/\\/app:pa55word@db.host\\/app"}', '{"db":"postgres:\\/\\/app:[masked]@db.host\\/app"}'],
      ['git clone https://me:s3cr3tpw@host/x.git', 'git clone https://me:[masked]@host/x.git'],
      ['authorization: Bearer abcdefabcdef', 'authorization: Bearer [masked]'],
      ['"Authorization": "Basic dXNlcjpwYXNz"', '"Authorization": "Basic [masked]"'],
      [`aws_secret_access_key = ${letters.slice(0, 40)}`, 'aws_secret_access_key = [masked]'],
      [`AWS_SECRET_ACCESS_KEY=${letters.slice(0, 40)}`, 'AWS_SECRET_ACCESS_KEY=[masked]'],
      ['//packages.example.org/:_authToken=abc123abc123', '//packages.example.org/:_authToken=[masked]'],
      ['curl --password hunter22 --token abc12345x', 'curl --password [masked] --token [masked]'],
      ['Cookie: session=abc; theme=dark1', 'Cookie: [masked]'],
      ['machine h login me password s3cr3tpw', 'machine h login me password [masked]'],
      ['password="two words 2"', 'password="[masked]"'],
    ]
    for (const [text, masked] of rows) expect(plain.mask(text)).toBe(masked)
  })
})

describe('a masker of private keys', () => {
  it('masks a whole block and keeps the number of lines', () => {
    for (const kind of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ']) {
      const text = ['before', header(kind), ...body, footer(kind), 'after'].join('\n')
      expect(plain.mask(text).split('\n')).toEqual(['before', ...Array(8).fill('[masked]'), 'after'])
    }
  })

  it('masks a block in one line, with its line ends escaped', () => {
    expect(plain.mask(`{"key":"${[header(''), ...body, footer('')].join('\\n')}\\n","x":1}`)).toBe('{"key":"[masked]\\n","x":1}')
  })

  it('masks a block whose end is missing, and only that', () => {
    const text = [header('RSA '), ...body, 'YWJj', 'the next line of the log'].join('\n')
    expect(plain.mask(text).split('\n')).toEqual([...Array(8).fill('[masked]'), 'the next line of the log'])
  })

  it('masks the end of a block whose beginning is missing', () => {
    const text = ['a line', ...body.slice(2), footer('RSA '), 'after'].join('\n')
    expect(plain.mask(text).split('\n')).toEqual(['a line', ...Array(5).fill('[masked]'), 'after'])
  })
})

describe('a masker of known values', () => {
  it('masks every occurrence, the longest first, also where they overlap', () => {
    const masker = createMasker({ secrets: ['abcdef', 'abcdefghij', 'ghijklmn', 'xyxyxy'] })
    expect(masker.mask('1 abcdef 2 abcdefghij 3 abcdefghijklmn 4 xyxyxyxy 5')).toBe('1 [masked] 2 [masked] 3 [masked] 4 [masked] 5')
  })

  it('passes over short and everyday values', () => {
    const masker = createMasker({ secrets: ['short', 'true', 'localhost', 'production', 'masked', ' ', ''] })
    expect(masker.mask('short true localhost production masked')).toBe('short true localhost production masked')
  })

  it('masks the value in the forms in which programs write it', () => {
    const value = `p@ss "w/ör'd"\nline`
    const masker = createMasker({ secrets: [value] })
    const forms = [
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString('base64'),
      Buffer.from(`user:${value}`).toString('base64url'),
      value.replaceAll("'", "'\\''"),
    ]
    for (const form of forms) {
      const shown = masker.mask(`<${form}>`)
      expect(shown).toContain('[masked]')
      for (let at = 0; at + 12 <= form.length; at += 1) expect(shown).not.toContain(form.slice(at, at + 12))
    }
  })

  it.each([
    ['PHP', 'a\\/b<c>&d\\u00f6'],
    ['Python', 'a/b<c>&d\\u00f6'],
    ['Go', 'a/b\\u003cc\\u003e\\u0026dö'],
  ])('masks the value as JSON of %s has it', (_, form) => {
    expect(createMasker({ secrets: ['a/b<c>&dö'] }).mask(`{"x":"${form}"}`)).toBe('{"x":"[masked]"}')
  })

  it('masks each line of a value of several lines', () => {
    const masker = createMasker({ secrets: [body.join('\n')] })
    expect(masker.mask(`  | ${body[2]} |`)).toBe('  | [masked] |')
  })

  it('masks configured patterns within a line', () => {
    const masker = createMasker({ secrets: [], patterns: [/EMP-\d+/, /^id .*$/g] })
    expect(masker.mask('id 1\nx EMP-123 y\nEMP-4')).toBe('[masked]\nx [masked] y\n[masked]')
  })

  it('changes nothing in what is masked already', () => {
    const masker = createMasker({ secrets: ['abcdef', 'q[mask', ']zzzzzz', 'asked]x'], patterns: [/\ba/, /b$/] })
    const parts = [
      'abcdef',
      'a',
      'b',
      ' ',
      '\n',
      'aaaa',
      'bbb',
      ']zzzzzz',
      '[masked]',
      'token=',
      'Authorization: Bearer ',
      '://u:',
      '@h',
      ...Object.values(tokens),
    ]
    const { int, pick } = random(7)
    for (let i = 0; i < 2000; i += 1) {
      const once = masker.mask(Array.from({ length: int(1, 12) }, () => pick(parts)).join(''))
      expect(masker.mask(once)).toBe(once)
    }
  })

  it('is linear on lines made to be slow', () => {
    const masker = createMasker({ secrets: [`${'a'.repeat(40)}b`, 'eyJeyJeyJ'], patterns: [/x+y/] })
    const units = [
      'a',
      'eyJ',
      'token=',
      'token="',
      'password: ',
      '-----',
      header(''),
      footer(''),
      '://',
      '://a:',
      'Bearer ',
      'Authorization: ',
      'cookie: a=',
      'sk-',
      'sk-a',
      '--a-',
      '+',
      ' ',
      '\n',
      '\\n',
      'ghp_',
      'login ',
      `${body[0]}\n`,
      'xox',
      '_',
      'eyJaaaaaaaaa.',
    ]
    // What is not linear takes minutes for one of these, and the test runs out of its time.
    for (const unit of units) {
      const masked = masker.mask(unit.repeat(Math.ceil(1_000_000 / unit.length)))
      expect(masker.mask(masked)).toBe(masked)
    }
  }, 120_000)

  it('takes a very long line', () => {
    expect(plain.mask(`${tokens.github} ${'a'.repeat(40_000_000)} ${tokens.npm}`)).toBe(`[masked] ${'a'.repeat(40_000_000)} [masked]`)
  }, 60_000)
})

describe('a masker of a stream', () => {
  const secrets = ['hunter22xyz', 'correct horse battery', `first ${letters.slice(0, 9)}\nsecond ${letters.slice(5, 20)}`]
  const masker = createMasker({ secrets })
  const inPieces = (made: Masker, text: string, cuts: (left: number) => number): string => {
    const stream = streamMasker(made)
    let shown = ''
    for (let at = 0; at < text.length; ) {
      const next = at + Math.max(1, cuts(text.length - at))
      shown += stream.push(text.slice(at, next))
      at = next
    }
    return shown + stream.end()
  }

  it('gives out what the masker makes of the whole, however the text is cut', () => {
    const { int, pick } = random(11)
    const parts = [
      'word',
      ' ',
      '\n',
      '\r\n',
      '\r',
      '日本',
      '😀',
      'token=',
      'password: "',
      '"',
      'Authorization: Bearer ',
      'Cookie: ',
      'a=1',
      '://u:',
      '@h',
      '.',
      '[masked]',
      `${[header(''), ...body, footer('')].join('\n')}\n`,
      header('RSA '),
      ...secrets,
      ...Object.values(tokens),
    ]
    for (let i = 0; i < 1500; i += 1) {
      const text = Array.from({ length: int(1, 14) }, () => pick(parts)).join('')
      const size = pick([1, 3, 20, 200])
      expect(inPieces(masker, text, () => int(1, size))).toBe(masker.mask(text))
    }
  })

  it('gives out whole lines and ended words at once', () => {
    const stream = streamMasker(masker)
    expect(stream.push('one line\nand a wo')).toBe('one line\nand a ')
    expect(stream.push('rd \n')).toBe('word \n')
    expect(stream.push('Password: ')).toBe('Password: ')
    expect(stream.push('\n.... ')).toBe('\n.... ')
    expect(stream.push('.....')).toBe('.....')
    expect(stream.end()).toBe('')
  })

  it('masks a value whose name is out already', () => {
    const stream = streamMasker(masker)
    expect(stream.push('password=')).toBe('')
    expect(stream.push('abc')).toBe('')
    expect(stream.push('123\n')).toBe('password=[masked]\n')
  })

  it('holds back no more than a few KiB of a line without end', () => {
    const stream = streamMasker(masker)
    let out = 0
    for (let i = 1; i <= 100; i += 1) {
      out += stream.push('x'.repeat(1000)).length
      expect(i * 1000 - out).toBeLessThanOrEqual(4096)
    }
    expect(out + stream.end().length).toBe(100_000)
  })

  it('masks a key that is longer than what it holds back', () => {
    const lines = Array.from({ length: 400 }, (_, i) => join('MIIEvQ', letters, String(1000 + i)).slice(0, 60))
    const shown = inPieces(masker, [header('RSA '), ...lines, footer('RSA '), 'after\n'].join('\n'), () => 777)
    expect(shown.split('\n')).toEqual([...Array(402).fill('[masked]'), 'after', ''])
  })
})

describe('secret names', () => {
  it('knows the names of secrets', () => {
    const names =
      'ANTHROPIC_API_KEY OPENAI_API_KEY GH_TOKEN AWS_SECRET_ACCESS_KEY OH_SESSION_API_KEYS_0 MY_CIPHER_SECRET NPM_TOKEN PGPASSWORD MYSQL_PWD DB_PASS SSHPASS githubToken apiKey CREDENTIALS NODE_AUTH_TOKEN REDISCLI_AUTH SESSION_COOKIE PRIVATE_KEY KEY2 AZURE_STORAGE_CONNECTION_STRING npm_config__authToken VAULT_SECRET_ID'
    expect(names.split(' ').filter((name) => !looksSecret(name))).toEqual([])
  })

  it('leaves out what only sounds like one', () => {
    const names =
      'KEYBOARD MONKEY AUTHOR GIT_AUTHOR_NAME PASSENGER XAUTHORITY KEYMAP PWD OLDPWD SSH_AUTH_SOCK PATH COMPASS BYPASS TOKENIZERS_PARALLELISM MAX_TOKENS MAX_OUTPUT_TOKENS SSH_PUBLIC_KEY TLS_KEY_FILE GOOGLE_APPLICATION_CREDENTIALS SECRETARY GNOME_KEYRING_CONTROL AUTH_URL XDG_SESSION_ID'
    expect(names.split(' ').filter(looksSecret)).toEqual([])
  })

  it('collects values of such names, of configured ones, and passwords in addresses', () => {
    const env = {
      GH_TOKEN: 'value-1',
      COMPANY_PIN: 'value-2',
      DATABASE_URL: 'postgres://u:p%40ssw0rd@h/d',
      HOME: '/home/me',
      EMPTY_TOKEN: '',
      GONE_KEY: undefined,
    }
    expect(secretsOf(env, ['company_*']).sort()).toEqual(['p%40ssw0rd', 'p@ssw0rd', 'value-1', 'value-2'])
  })
})

describe('a masker of text with escape sequences', () => {
  const value = join('Zq9v', 'LongHidden', 'Value77abc')
  const masker = createMasker({ secrets: [value] })
  const hidden = [value, tokens.github as string]
  const between = ['\u001b[0m', '\u001b[01;31m\u001b[K', '\u009b1m', '\u001b]8;;https://example.org\u0007', '\u0008', '\u0007', '\u001b(B']

  it('masks a secret that a colour or another invisible sequence divides, as a search with colours prints it', () => {
    for (const secret of hidden)
      for (const sequence of between)
        for (const at of [1, 5, secret.length - 1]) {
          const line = `a ${sequence}${secret.slice(0, at)}${sequence}${secret.slice(at)}${sequence} z`
          expect(stripControls(masker.mask(line))).toBe('a [masked] z')
          expect(masker.mask(masker.mask(line))).toBe(masker.mask(line))
        }
  })

  it('masks it with a sequence between all of its characters', () => {
    expect(stripControls(masker.mask([...value].join('\u001b[m')))).toBe('[masked]')
  })

  it('keeps the number of lines and the sequences around', () => {
    const text = `one\n\u001b[1m${value.slice(0, 9)}\u001b[0m${value.slice(9)}\nthree \u001b[1mbold\u001b[0m\n`
    expect(masker.mask(text)).toBe('one\n\u001b[1m[masked]\nthree \u001b[1mbold\u001b[0m\n')
  })

  it('does not join what a carriage return or a NUL keeps apart', () => {
    for (const border of ['\r', '\u0000', '\u001b[2K', '\u001b[1G']) {
      const text = `${value.slice(0, 9)}${border}${value.slice(9)}`
      expect(masker.mask(text)).toBe(text)
    }
  })

  it('masks it also where it comes in pieces', () => {
    const text = `a \u001b[1m${value.slice(0, 9)}\u001b[0m${value.slice(9)} z\n`
    for (let at = 1; at < text.length; at += 1) {
      const stream = streamMasker(masker)
      expect(stripControls(stream.push(text.slice(0, at)) + stream.push(text.slice(at)) + stream.end())).toBe('a [masked] z\n')
    }
  })
})
