/** What npm and its likes print before they run a script: `> name@1.2.3 build`, with the folder behind it in some versions. */
export const scriptHeader = /^> (?:@[\w.-]{1,100}\/)?[\w.-]{1,100}@\d[\w.+-]{0,60} [\w:.-]{1,100}(?: \S.*)?$/

/** The word of a shell on a command that is not installed. */
export const isCommandNotFound = (text: string): boolean =>
  /^(?:\/\S{1,60}\/)?(?:sh|bash|dash|zsh|ash): (?:(?:line )?\d{1,7}: )?\S{1,200}: (?:command )?not found$|^'[^']{1,200}' is not recognized as an internal or external command/.test(
    text,
  )
