import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'

const report = /^(?:={2}\d{1,10}={2}\s?(?:ERROR|WARNING): |WARNING: )((?:\w{1,20}Sanitizer|libFuzzer): .+)$/
const runtime = /^([^\s:][^:]{0,300}:\d{1,7}(?::\d{1,7})?): runtime error: (.+)$/
const summary = /^SUMMARY: \w{1,20}Sanitizer: |^ThreadSanitizer: reported \d/
const access =
  /^\s*(?:READ|WRITE|Read|Write|Previous|Atomic|Direct leak|Indirect leak|The signal is|Hint:|0x[\da-f]+ is located|freed by|previously allocated|allocated by|Location is|Uninitialized value)\b/
const frame = /^\s*#\d{1,4} /
const foreign = /libsanitizer|\/sysdeps\/|\/csu\/|\/(?:asan|tsan|msan|lsan|ubsan|sanitizer)_\w+\.|\/compiler-rt\/|\/usr\//

/** Reports of AddressSanitizer and its relatives, in programs built by gcc and by clang. */
export const sanitizer: Recogniser = {
  name: 'sanitizer',
  signs:
    /^={2}\d{1,10}={2}\s?(?:ERROR|WARNING): \w{1,20}Sanitizer: |^WARNING: \w{1,20}Sanitizer: |^SUMMARY: \w{1,20}Sanitizer: |^[^\s:][^:]{0,300}:\d{1,7}:\d{1,7}: runtime error: /,
  open() {
    const said = gathering('sanitizer', 'error')
    let open: OpenFailure | undefined
    return {
      line(line) {
        const { text } = line
        const found = report.exec(text)
        if (found) {
          open = said.failure(line, found[1] as string)
          return
        }
        const undefinedBehaviour = runtime.exec(text)
        if (undefinedBehaviour) {
          said.failure(line, undefinedBehaviour[2] as string, undefinedBehaviour[1], text)
          open = undefined
        } else if (summary.test(text)) {
          said.total(line)
          open = undefined
        } else if (frame.test(text)) {
          const place = foreign.test(text) ? undefined : placeIn(text)
          if (!open || place === undefined) return
          open.place ??= place
          open.detail(line, ranks.place)
        } else if (access.test(text)) open?.detail(line, ranks.message)
      },
      end: () => said.result({ errors: said.failures || undefined }),
    }
  },
}
