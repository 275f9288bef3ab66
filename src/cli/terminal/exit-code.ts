/** The exit codes of the commands (docs/reference/commands.md). */
export const EXIT = { done: 0, failed: 1, usage: 2, timedOut: 3, blocked: 4 } as const;
