/** How long the agent of a machine may take for what follows a shutdown that was called off, in milliseconds. */

/** How long an agent has to bring back what it took away for a shutdown that was called off. */
export const RECOVERY_MS = 10_000;
/** How long a released agent waits for the machine to go down, and the time to bring everything back. */
export const RELEASE_MS = 60_000 + RECOVERY_MS;
