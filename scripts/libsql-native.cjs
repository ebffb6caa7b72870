// Stands in, inside the bundle, for the part of libsql that finds its native library. The original asks detect-libc, which
// takes about 12 ms of every start; the C library that node itself was linked with is in the first bytes of its program file.
const { openSync, readSync, closeSync } = require('node:fs')

function linkedWithMusl() {
  const head = Buffer.alloc(2048)
  try {
    const file = openSync(process.execPath, 'r')
    readSync(file, head, 0, head.length, 0)
    closeSync(file)
  } catch {
    return false
  }
  return head.includes('ld-musl-')
}

function nativePackage() {
  const { platform, arch } = process
  if (platform !== 'linux') return `@libsql/${platform}-${arch}${platform === 'win32' ? '-msvc' : ''}`
  const libc = linkedWithMusl() ? 'musl' : 'gnu'
  return `@libsql/linux-${arch}-${libc}${arch === 'arm' ? 'eabihf' : ''}`
}

/** The native half of libsql, from beside this package or, where dependencies are not hoisted, from beside libsql. */
exports.requireNative = () => {
  const name = nativePackage()
  try {
    return require(name)
  } catch (error) {
    const driver = 'libsql'
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    return require('node:module').createRequire(require.resolve(driver))(name)
  }
}
