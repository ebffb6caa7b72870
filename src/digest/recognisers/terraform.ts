import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const closing =
  /^(?:Plan: \d{1,9} to (?:add|import), \d|Apply complete! Resources: |Destroy complete! Resources: |No changes\. |Success! The configuration is valid|(?:Terraform|OpenTofu) has been successfully initialized!|Planning failed\. )/
const onPlace = /^ {2}on (\S.{0,400}) line (\d{1,7})(?:, in .{1,400})?:$/

/** Terraform and OpenTofu: init, validate, plan and apply. */
export const terraform: Recogniser = {
  name: 'terraform',
  signs: new RegExp(
    `${closing.source}|^[│|]? ?${onPlace.source.slice(1)}|^[╷╵]$|^(?:Terraform|OpenTofu) used the selected providers|^Initializing (?:the backend|modules|provider plugins)\\.\\.\\.$|^This configuration requires provider `,
  ),
  open: openTerraform,
}

function openTerraform(): Reader {
  const all = gathering('terraform', 'error')
  let current: OpenFailure | undefined
  /** A headline without a frame, which is one between blank lines. */
  let pending: { readonly line: LogLine; readonly isError: boolean; readonly title: string } | undefined
  let isBlank = true
  let hasProse = false
  let isAfterProse = false

  function begin({ line, isError, title }: { readonly line: LogLine; readonly isError: boolean; readonly title: string }): void {
    pending = undefined
    hasProse = false
    isAfterProse = false
    current = isError ? all.failure(line, title) : undefined
    if (!isError) all.warning(line)
  }

  function explain(open: OpenFailure, line: LogLine, text: string): void {
    const place = onPlace.exec(text)
    if (place) {
      open.place ??= `${place[1]}:${place[2]}`
      open.detail(line, ranks.place)
    } else if (/^ {2,8}with \S.*,$/.test(text)) open.detail(line, ranks.place)
    else if (/^ {1,6}\d{1,7}: /.test(text)) open.detail(line, ranks.source)
    else if (/^ {2,8}│ \S/.test(text)) open.detail(line, ranks.comparison)
    else if (text === '') isAfterProse ||= hasProse
    else if (/^\S/.test(text)) {
      hasProse = true
      // The first paragraph says what is wrong, the next ones what to do.
      open.detail(line, isAfterProse ? ranks.other : ranks.message)
    }
  }

  return {
    line(line) {
      const wasBlank = isBlank
      isBlank = line.text === ''
      const framed = /^[│|](?: |$)/.test(line.text)
      const text = framed ? line.text.slice(2) : line.text
      const headline = /^(Error|Warning): (\S.*)$/.exec(text)
      if (headline) {
        const found = { line, isError: headline[1] === 'Error', title: headline[2] as string }
        current = undefined
        if (framed) begin(found)
        else if (wasBlank) pending = found
      } else if (pending) {
        if (text === '') begin(pending)
        pending = undefined
      } else if (closing.test(text)) {
        all.total(line)
        current = undefined
      } else if (text === '╵' || /^\S{1,400}: (?:Creating|Destroying|Modifying|Reading|Refreshing|Still |Creation complete|Destruction complete)/.test(text)) {
        current = undefined
      } else if (current) explain(current, line, text)
    },
    end: () => all.result({ errors: all.failures || undefined, warnings: all.warnings || undefined }),
  }
}
