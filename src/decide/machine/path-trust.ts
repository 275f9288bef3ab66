/** Whether root may act on a path: nobody else may be able to put something else in its place. */

/** What a path is to be. */
export type PathKind = 'directory' | 'file' | 'socket';

/** One part of a path, as lstat shows it. */
export interface PathPart {
  /** The whole path up to and with this part. */
  readonly path: string;
  readonly kind: PathKind | 'link' | 'other';
  readonly uid: number;
  /** Permission bits. */
  readonly mode: number;
}

/** What is wrong with a path, and the command that puts it right. */
export interface UntrustedReason {
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

/** Write permission of the group and of others; a POSIX access list shows in the group's. */
const OTHERS_WRITE = 0o022;

/** `text` as one word of a shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function distrustOfOwner({ path, kind, uid }: PathPart, owners: readonly number[]): UntrustedReason | undefined {
  if (owners.includes(uid)) return undefined;
  const noDereference = kind === 'link' ? '-h ' : '';
  return { path, problem: `it belongs to the user ${uid}`, fix: `chown ${noDereference}root ${shellWord(path)}` };
}

/**
 * What speaks against a part of a path that is to be a `wanted`; undefined where nothing does. `owners` are the user ids
 * that are believed. A directory or a file that somebody else may write to is refused, a sticky one like /tmp as well. The
 * permissions of a link mean nothing, and those of a socket say who may connect to it, not who listens.
 */
export function untrustedReasonOf(
  part: PathPart,
  wanted: PathKind,
  owners: readonly number[],
): UntrustedReason | undefined {
  const { path, kind, mode } = part;
  const place = shellWord(path);
  const foreign = distrustOfOwner(part, owners);
  if (foreign !== undefined || kind === 'link') return foreign;
  if (kind !== wanted) {
    const fix = `put a ${wanted} in its place: ls -ld ${place}`;
    return { path, problem: `it is no ${wanted}`, fix };
  }
  if (kind === 'socket' || (mode & OTHERS_WRITE) === 0) return undefined;
  const who = (mode & 0o002) === 0 ? 'its group' : 'everybody';
  const problem = `${who} may write to it (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
  return { path, problem, fix: `chmod go-w ${place}` };
}
