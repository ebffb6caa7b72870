const frame =
  /^\s*(?:at |\.\.\. \d+ (?:more|common)|File "|from \S{1,300}:\d{1,7}:in )|^\t\S{1,400}\.go:\d{1,7}\b|^[\w./*()$·-]{1,200}\((?:0x|\{|\.\.\.|\))|^\s*(?:async )?[\w.$<>]{1,120} \((?:node:|file:\/\/|\/)[^()]{1,300}:\d{1,7}:\d{1,7}\)$|^\s+\d{1,4}: (?:0x[\da-f]{4,16} - )?[\w<]/

/** True for a line of a stack trace. */
export const isStackFrame = (line: string): boolean => frame.test(line)

// Runtimes, test runners and packages of others: a program's own frames say more.
const foreign =
  /\b(?:java|javax|sun|jdk|kotlin|scala|groovy)\.|\borg\.(?:junit|opentest4j|testng|hamcrest|mockito|assertj|gradle|apache|springframework|hibernate|eclipse|codehaus)\.|\bio\.(?:netty|undertow|micronaut)\.|\bcom\.(?:sun|google\.common|fasterxml)\.|\bhudson\.|node:|internal\/|node_modules|site-packages|dist-packages|\/lib\/python|importlib|_pytest|unittest|\/usr\/(?:lib|local)|\/go\/(?:pkg|src)\/|\/x64\/src\/|testing\.|runtime\.|\/rustc\/|\b(?:core|std|alloc|tokio|test)::|\/gems\/|System\.|Microsoft\./

/** True for a frame in code that is not known to be of a runtime, a runner or a library. */
export const isOwnFrame = (line: string): boolean => isStackFrame(line) && !foreign.test(line) && /:\d|line \d|\.go/.test(line)

/** Python tells the innermost call last. */
export const isInnermostLast = (line: string): boolean => /^\s*File "/.test(line)
