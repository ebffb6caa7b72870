// Loads a chunk of the program with the code that V8 made of it before: compiling is most of what a short command does. The cache
// is made by the build, for the Node that builds; any other Node does not find it, or V8 refuses it, and compiles as ever.
// This text becomes a part of dist/cli.js, where `require` and `__dirname` are its own.
module.exports = (chunk) => {
  const path = require('node:path').join(__dirname, chunk)
  const known = require.cache[path]
  if (known) return known.exports
  const { readFileSync, renameSync, writeFileSync } = require('node:fs')
  const { createRequire, wrap } = require('node:module')
  const cache = `${path}.${process.version}.cache`
  let cachedData
  try {
    cachedData = readFileSync(cache)
  } catch {}
  const script = new (require('node:vm').Script)(wrap(readFileSync(path, 'utf8')), { filename: path, cachedData })
  const made = { exports: {}, loaded: true }
  require.cache[path] = made
  script.runInThisContext()(made.exports, createRequire(path), made, path, require('node:path').dirname(path))
  if (process.env.HOLDFAST_MAKE_CODE_CACHE) {
    // At the end of a command, so that the functions that it used are in it too.
    process.once('exit', () => {
      writeFileSync(`${cache}.draft`, script.createCachedData())
      renameSync(`${cache}.draft`, cache)
    })
  }
  return made.exports
}
