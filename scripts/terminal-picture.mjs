// Draws docs/images/terminal.svg: what a terminal shows while the commands below are typed, in a project like that of the pages. They run
// for real, on a pseudo-terminal; what they print is laid out by a terminal emulator. With a path, the picture goes there.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import xterm from '@xterm/headless'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const columns = 104
const mostRows = 200
const commands = ['holdfast exec -- npm test', "holdfast search 'whole cents' --failing"]
const cell = { width: 8.4, height: 19 }
const margin = 16
const bar = 34
const palette = ['#1e1e2e', '#f38ba8', '#a6e3a1', '#f9e2af', '#89b4fa', '#f5c2e7', '#94e2d5', '#cdd6f4']
const background = '#181825'
const foreground = '#cdd6f4'

const place = mkdtempSync(join(tmpdir(), 'holdfast-picture-'))
try {
  const { home, env } = makeHome(place)
  const shown = await layOut(typeAll(home, env))
  writeFileSync(process.argv[2] ?? join(root, 'docs', 'images', 'terminal.svg'), draw(shown))
} finally {
  rmSync(place, { recursive: true, force: true })
}

function makeHome(folder) {
  const home = join(folder, 'home')
  const bin = join(folder, 'bin')
  cpSync(join(root, 'test', 'docs', 'shop'), join(home, 'shop'), { recursive: true })
  mkdirSync(bin)
  writeFileSync(join(home, '.npmrc'), 'update-notifier=false\n')
  writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist', 'cli.js')}' "$@"\n`)
  chmodSync(join(bin, 'holdfast'), 0o755)
  const env = { HOME: home, PATH: `${bin}:${process.env.PATH}`, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8', HOLDFAST_SUPERVISOR: 'never' }
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '.'],
    [...identity, 'commit', '-qm', 'prices'],
  ])
    run('git', args, { cwd: join(home, 'shop'), env })
  return { home, env }
}

/** What the terminal gets, the prompt and what is typed behind it included. */
function typeAll(home, env) {
  const prompt = '\x1b[32mada@desk\x1b[0m \x1b[34m~/shop\x1b[0m $ '
  const typed = commands.map((command) => {
    const line = `stty rows ${mostRows} cols ${columns}; ${command}`
    const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], { cwd: join(home, 'shop'), env, encoding: 'utf8', input: '', timeout: 60_000 })
    return `${prompt}\x1b[1m${command}\x1b[0m\r\n${stdout.replaceAll(home, '/home/ada')}`
  })
  return `${typed.join('\r\n')}\r\n${prompt}`
}

function layOut(text) {
  const terminal = new xterm.Terminal({ cols: columns, rows: mostRows, allowProposedApi: true })
  return new Promise((resolve) => terminal.write(text, () => resolve(terminal.buffer.active)))
}

function draw(buffer) {
  const rows = buffer.baseY + buffer.cursorY + 1
  const width = Math.ceil(columns * cell.width + 2 * margin)
  const height = Math.ceil(rows * cell.height + bar + 2 * margin)
  const lines = Array.from({ length: rows }, (_, at) => drawLine(buffer.getLine(at), bar + margin + (at + 0.75) * cell.height))
  const lights = ['#f38ba8', '#f9e2af', '#a6e3a1'].map((color, at) => `<circle cx="${margin + 6 + at * 20}" cy="${bar / 2 + 2}" r="6" fill="${color}"/>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: npm test fails behind holdfast exec, whose digest shows the failing test; holdfast search finds it again">
<rect width="${width}" height="${height}" rx="10" fill="${background}"/>
${lights.join('')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${foreground}" xml:space="preserve">
${lines.filter((line) => line !== '').join('\n')}
</g>
</svg>
`
}

/** One text element for each run of cells that look alike; its length is stated, so that any font keeps the columns. */
function drawLine(line, y) {
  const runs = []
  for (let x = 0; x < columns; x += 1) {
    const at = line.getCell(x)
    if (at.getWidth() === 0) continue
    const look = `${at.isFgPalette() ? at.getFgColor() : ''}${at.isBold() ? 'b' : ''}${at.isDim() ? 'd' : ''}`
    const last = runs.at(-1)
    const text = at.getChars() || ' '
    if (last?.look === look) last.text += text
    else runs.push({ x, look, text, color: at.isFgPalette() ? palette[at.getFgColor() % 8] : undefined, bold: at.isBold(), dim: at.isDim() })
  }
  return runs
    .map((run) => ({ ...run, text: run.text.replace(/ +$/, '') }))
    .filter(({ text }) => text !== '')
    .map(({ x, text, color, bold, dim }) => {
      const looks = `${color ? ` fill="${color}"` : ''}${bold ? ' font-weight="bold"' : ''}${dim ? ' opacity="0.6"' : ''}`
      const long = (text.length * cell.width).toFixed(1)
      return `<text x="${(margin + x * cell.width).toFixed(1)}" y="${y.toFixed(1)}" textLength="${long}"${looks}>${escaped(text)}</text>`
    })
    .join('')
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char])
}

function run(program, args, options) {
  const { status, stderr } = spawnSync(program, args, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`)
}
