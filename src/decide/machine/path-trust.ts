/** Whether root may use a path: no other user may be able to replace any part of it. */

/** What a path must be. */
export type PathKind = 'directory' | 'file' | 'socket';

/** One part of a path, as lstat shows it. */
export interface PathPart {
  /** The path up to this part, with this part included. */
  readonly path: string;
  readonly kind: PathKind | 'link' | 'other';
  readonly uid: number;
  /** Permission bits. */
  readonly mode: number;
}

/** Why a path is not trusted, and the command that fixes it. */
export interface UntrustedReason {
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

/** Write permission of the group and of others; a POSIX access list appears in the permissions of the group. */
const OTHERS_WRITE = 0o022;

const STICKY = 0o1000;

/** `text` quoted as one word of a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function untrustedOwner({ path, kind, uid }: PathPart, owners: readonly number[]): UntrustedReason | undefined {
  if (owners.includes(uid)) return undefined;
  const noDereference = kind === 'link' ? '-h ' : '';
  return { path, problem: `it belongs to the user ${uid}`, fix: `chown ${noDereference}root ${shellWord(path)}` };
}

/**
 * Why a part of a path is not trusted; undefined if it is. `wanted` is what the part must be, `owners` are the trusted user
 * ids. A directory or a file that other users may write to is refused, also a directory with the sticky bit like /tmp. The permissions of a link
 * mean nothing, and those of a socket say who may connect to it, not who listens.
 */
export function untrustedReasonOf(
  part: PathPart,
  wanted: PathKind,
  owners: readonly number[],
): UntrustedReason | undefined {
  const { path, kind, mode } = part;
  const word = shellWord(path);
  const foreign = untrustedOwner(part, owners);
  if (foreign !== undefined || kind === 'link') return foreign;
  if (kind !== wanted) {
    const fix = `put a ${wanted} in its place: ls -ld ${word}`;
    return { path, problem: `it is no ${wanted}`, fix };
  }
  if (kind === 'socket' || (mode & OTHERS_WRITE) === 0) return undefined;
  const who = (mode & 0o002) === 0 ? 'its group' : 'everybody';
  const problem = `${who} may write to it (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
  // A directory with the sticky bit, such as /tmp, is meant for everybody: without that right other programs break.
  const isShared = kind === 'directory' && (mode & STICKY) !== 0;
  const fix = isShared ? 'put it below a directory that only root can write to' : `chmod go-w ${word}`;
  return { path, problem, fix };
}
