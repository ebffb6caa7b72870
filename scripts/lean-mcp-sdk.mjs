// An esbuild plugin that leaves out of the MCP SDK what a server of tools never runs, since its client waits for the start.
//
// - Its default validator of JSON Schema, ajv: half of the bytes. The server is given one of its own, so nothing calls it.
// - Its schemas of messages that nothing in the bundle mentions: each is built when the module is loaded. Marked as free of
//   side effects they fall away; those that are used stay as they are.
import { readFileSync } from 'node:fs'

const fewestSchemas = 100

export function leanMcpSdk() {
  return {
    name: 'lean-mcp-sdk',
    setup(plugin) {
      plugin.onLoad({ filter: /[\\/]sdk[\\/]dist[\\/]esm[\\/]validation[\\/]ajv-provider\.js$/ }, () => ({
        contents: `export class AjvJsonSchemaValidator { getValidator() { throw new Error('no validator of JSON Schema is part of this build') } }`,
        loader: 'js',
      }))
      plugin.onLoad({ filter: /[\\/]sdk[\\/]dist[\\/]esm[\\/]types\.js$/ }, ({ path }) => {
        let marked = 0
        const declaration = /^(export )?const (\w+) = ((?:z|\w+Schema)\s*\.[\s\S]*?);$(?=\n(?:\/|export|const|class|function|$))/gm
        const contents = readFileSync(path, 'utf8').replace(declaration, (_, exported = '', name, schema) => {
          marked += 1
          return `${exported}const ${name} = /* @__PURE__ */ (() => ${schema})();`
        })
        if (marked < fewestSchemas)
          return { errors: [{ text: `only ${marked} schemas of the MCP SDK were found; scripts/lean-mcp-sdk.mjs no longer knows its shape` }] }
        return { contents, loader: 'js' }
      })
    },
  }
}
