/** Where runs and bytes of their logs are fewer, reading them here is quicker than starting a program that does. */
export const worthScanning = { bytes: 4 * 1024 ** 2, runs: 300 }
