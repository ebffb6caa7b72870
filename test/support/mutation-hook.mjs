// Counts the steps of the process that loads it (node --import) which change something: a function of node:fs that writes below the folder
// HOLDFAST_TEST_STEPS names, and each start of a program. JSON: { below, at, when, log }. At step number `at` the process is killed with SIGKILL,
// `before` or `after` it; without `at` nothing happens. Each step is a line in the file `log`: what was called and with which path.
import { createRequire, syncBuiltinESMExports } from 'node:module'

const require = createRequire(import.meta.url)
const fs = require('node:fs')
const childProcess = require('node:child_process')

const { below, at, when, log } = JSON.parse(process.env.HOLDFAST_TEST_STEPS)
const { openSync, writeSync } = fs
const logFile = openSync(log, 'a')
const writes = new Set(['w', 'wx', 'a', 'ax', 'r+', 'w+', 'a+'])
let count = 0
let inside = false

function step(what, action) {
  // What a function of node:fs does by means of another is one step.
  if (inside) return action()
  count += 1
  writeSync(logFile, `${what}\n`)
  if (count === at && when === 'before') die()
  inside = true
  try {
    return action()
  } finally {
    inside = false
    if (count === at) die()
  }
}

function die() {
  process.kill(process.pid, 'SIGKILL')
  // The signal comes a moment later; nothing more may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const isBelow = (path) => typeof path === 'string' && path.startsWith(below)
const changing = ['writeFile', 'appendFile', 'mkdir', 'rm', 'rmdir', 'unlink', 'rename', 'symlink', 'link', 'chmod', 'utimes', 'truncate', 'copyFile', 'cp']
for (const name of changing) {
  const sync = fs[`${name}Sync`]
  fs[`${name}Sync`] = (...args) => (isBelow(args[0]) ? step(`${name} ${args[0]}`, () => sync(...args)) : sync(...args))
  const promised = fs.promises[name]
  fs.promises[name] = (...args) => (isBelow(args[0]) ? step(`${name} ${args[0]}`, () => promised(...args)) : promised(...args))
}
fs.openSync = (path, flags, ...rest) =>
  isBelow(path) && writes.has(flags) ? step(`open ${path}`, () => openSync(path, flags, ...rest)) : openSync(path, flags, ...rest)
const { spawn } = childProcess
childProcess.spawn = (file, args, ...rest) => {
  const words = (Array.isArray(args) ? args : []).filter((word, at, all) => word !== '-c' && all[at - 1] !== '-c' && !/^--git-dir=/.test(word))
  return step(`spawn ${file} ${words.join(' ')}`, () => spawn(file, args, ...rest))
}
syncBuiltinESMExports()
