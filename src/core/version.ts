/** The version of this package; a test keeps it equal to package.json, so that no file is read to say it. */
export const version = '0.1.0'
