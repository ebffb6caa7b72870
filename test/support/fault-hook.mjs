// Ends the process that loads it (node --import) by SIGKILL at a step that HOLDFAST_TEST_FAULT names, so that a test meets exactly that
// step. JSON: { step, what, count, when, hit }. The COUNTth time that the step happens to `what`, the process is killed `before` or
// `after` it, and the file `hit` says so first. Steps: `send` and `receive` of a frame of that type (a number) over a unix socket, `spawn`
// of a program whose path ends like that, `print` of a text with that in it, and any function of node:fs by its name, called with a path
// (rename: the new one) that ends so. Each type of frame that was received and handled is told by a file, `hit` with the type behind it.
import { createRequire, syncBuiltinESMExports } from 'node:module'

const require = createRequire(import.meta.url)
const fs = require('node:fs')
const net = require('node:net')
const childProcess = require('node:child_process')

const fault = JSON.parse(process.env.HOLDFAST_TEST_FAULT ?? 'null')
const { writeFileSync } = fs
let left = fault?.count ?? 0

/** Does the step, and ends the process around it where it is the one. */
function around(isIt, step) {
  if (!isIt || --left !== 0) return step()
  if (fault.when === 'before') die()
  const result = step()
  die()
  return result
}

function die() {
  writeFileSync(fault.hit, `${fault.step} ${fault.what}\n`)
  process.kill(process.pid, 'SIGKILL')
}

/** Calls `tell` with the type of each frame of a stream of frames. */
function frameReader(tell) {
  let bytes = Buffer.alloc(0)
  return (piece) => {
    bytes = Buffer.concat([bytes, piece])
    while (bytes.length >= 12 && bytes.length >= 12 + bytes.readUInt32LE(0)) {
      const type = bytes[4]
      bytes = bytes.subarray(12 + bytes.readUInt32LE(0))
      tell(type)
    }
  }
}

/** Whether the piece brings as many frames of the type as are still to come. */
function counting(reader, types) {
  let found = 0
  const read = reader((type) => {
    types?.add(type)
    if (String(type) === fault.what) found += 1
  })
  return (piece) => {
    found = 0
    read(piece)
    if (found === 0) return false
    // `around` counts one.
    left = Math.max(1, left - (found - 1))
    return true
  }
}

if (fault?.step === 'send' || fault?.step === 'receive') {
  const { connect } = net
  net.connect = (options, ...rest) => {
    if (typeof options !== 'object' || !options.path) return connect(options, ...rest)
    const isSent = counting(frameReader)
    const types = new Set()
    const isReceived = counting(frameReader, types)
    const { onread } = options
    const callback = (length, bytes) => {
      const result = around(isReceived(bytes.subarray(0, length)) && fault.step === 'receive', () => onread.callback(length, bytes))
      for (const type of types) writeFileSync(`${fault.hit}.${type}`, '')
      types.clear()
      return result
    }
    const socket = connect({ ...options, ...(onread && { onread: { ...onread, callback } }) }, ...rest)
    const write = socket.write.bind(socket)
    socket.write = (bytes, ...more) => around(fault.step === 'send' && isSent(bytes), () => write(bytes, ...more))
    return socket
  }
  net.createConnection = net.connect
} else if (fault?.step === 'print') {
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = (text, ...rest) => around(String(text).includes(fault.what), () => write(text, ...rest))
} else if (fault?.step === 'spawn') {
  const { spawn } = childProcess
  childProcess.spawn = (file, ...rest) => around(String(file).endsWith(fault.what), () => spawn(file, ...rest))
} else if (fault) {
  const original = fs[fault.step]
  const at = fault.step.startsWith('rename') ? 1 : 0
  fs[fault.step] = (...args) => around(String(args[at]).endsWith(fault.what), () => original(...args))
}
syncBuiltinESMExports()
