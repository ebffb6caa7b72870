import type { EntriesFile } from '../../src/hosts/config/config-file.ts'
import { eventNames } from '../../src/hosts/events.ts'

/** For tests: a file as a person has it, with comments, other servers and hooks, and a style of its own. */
export function personsText({ format, server, hooks }: EntriesFile): string {
  if (format === 'toml') return personsToml
  const servers = server ? `  "${server.path[0]}": {\n    "other": { "command": "npx", "env": { "API_KEY": "k-123456789" } }, // not ours\n  },\n` : ''
  const event = hooks ? eventNames[hooks.host]['session-start'] : ''
  const own = hooks?.isGrouped ? '{ "matcher": "startup", "hooks": [{ "type": "command", "command": "date" }] }' : '{ "command": "date" }'
  const events = hooks ? `  "hooks": {\n    "${event}": [\n      ${own} /* mine */\n    ],\n    // "stop": []\n  },\n` : ''
  return `{\n  // how I like it\n  "theme": "dark",   // really\n${servers}${events}}\n`
}

const personsToml = `# how I like it
model = "gpt-5"   # really

[mcp_servers.other]  # not ours
command = "npx"
args = [
  "-y", # yes
  "other",
]

[[hooks.SessionStart]]
matcher = "startup"

[[hooks.SessionStart.hooks]]
type = "command"
command = "date"

[projects."/srv/app"]
trust_level = "trusted"
# the end
`

/** For tests: beginnings that differ in style. */
export const styles: readonly string[] = [
  '{}',
  '{ }',
  '{\n}\n',
  '{"a":1}',
  '{ "a": 1 }\n',
  '{\n\t"a": 1\n}\n',
  '{\n    "a": [1, 2,], // here\n}',
  '\ufeff{\r\n  "a": {\r\n    "b": null\r\n  }\r\n}\r\n',
  '{\n  "a": 1 }',
  '{ // open\n}\n',
  '// head\n{\n  /* in */\n  "a": "{ \\"x\\": [1] }" // tail\n  // last\n}\n// end\n',
]

export const tomlStyles: readonly string[] = [
  'a = 1',
  'a = 1\n\n\n',
  '\ufeffa = 1\r\n[b]\r\nc = 2 # d\r\n',
  '[mcp_servers]\n',
  'mcp_servers.other.command = "x" # dotted\n',
  'mcp_servers = { other = { command = "x" } } # inline\n',
  '[mcp_servers]\nother = { command = "x" }\n',
  'a = """\n[mcp_servers.holdfast]\ncommand = "no"\n"""\n',
  "a = 'x'''y'\n".replace("'''", ''),
  '[hooks]\nSessionStart = [ { hooks = [] } ] # inline\n',
  '[hooks.state."a:b:0"]\ntrusted_hash = "x"\n',
  '# only a comment',
  'a = [ # [x]\n  1,\n  2 ]\n[[b]]\n[[b]]\nc = "#"\n',
]
