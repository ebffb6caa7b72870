/** No message is longer; one that is would be held in memory whole. */
export const maxMessageBytes = 64 * 1024 * 1024
