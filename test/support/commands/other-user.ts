/** Programs of the checkout that are run as a user who is not root. */

/** A user and its only group. */
export interface OtherUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The command line by which root runs `command` as that user. The user may look into every folder (CAP_DAC_READ_SEARCH),
 * because the checkout may lie where only root may look; what it may write, or connect to, is its own.
 */
export function asUser({ uid, gid }: OtherUser, command: readonly string[]): readonly [string, ...string[]] {
  const capability = '+dac_read_search';
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  return ['setpriv', ...user, `--inh-caps=${capability}`, `--ambient-caps=${capability}`, '--', ...command];
}
