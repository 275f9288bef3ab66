/** Who speaks on the control socket, in words: what /proc has of the process that it says it is. */

/** What is read of a process; undefined where it has ended or cannot be read. */
export interface AskerFacts {
  /** As the process says it. */
  readonly pid: number;
  /** /proc/PID/status. */
  readonly status: string | undefined;
  /** /proc/PID/loginuid: the user who logged in, whoever they have become since (pam_loginuid(8)). */
  readonly loginUid: string | undefined;
  /** /etc/passwd. */
  readonly users: string;
}

/** What the kernel has where nobody has logged in. */
const NO_LOGIN = 4_294_967_295;

function idIn(text: string | undefined): number | undefined {
  const found = /^\d{1,10}$/.exec(text?.trim() ?? '');
  return found === null ? undefined : Number(found[0]);
}

/** The user of an id as a person knows them: `root (uid 0)`, or `uid 1000` where the machine has no name of its own for it. */
function userOf(uid: number, users: string): string {
  const line = users.split('\n').find((each) => each.split(':')[2] === `${uid}`);
  const name = /^[\w.@-]{1,64}(?=:)/.exec(line ?? '')?.[0];
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`;
}

/** Describes the asker in one line of at most some 200 characters. */
export function describeAsker({ pid, status, loginUid, users }: AskerFacts): string {
  const uid = idIn(/^Uid:\s+(\d{1,10})\s/mu.exec(status ?? '')?.[1]);
  if (uid === undefined) return `a process that says it is pid ${pid}`;
  const login = idIn(loginUid);
  const isOther = login !== undefined && login !== NO_LOGIN && login !== uid;
  return `${userOf(uid, users)}${isOther ? `, logged in as ${userOf(login, users)}` : ''}, pid ${pid}`;
}
