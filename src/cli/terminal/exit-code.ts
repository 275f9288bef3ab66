/** The exit codes of the commands (docs/reference/commands.md); the command line itself has 2, used wrongly. */
export const EXIT = { done: 0, failed: 1, timedOut: 3 } as const;
