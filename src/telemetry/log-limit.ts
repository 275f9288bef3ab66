/** Which lines of the log are written: of each object only so many in a minute, whoever makes it change again and again. */

/** What becomes of a line. */
interface LineVerdict {
  readonly isWritten: boolean;
  /** How many lines were left out in the minute before; told once, with the first line after it. */
  readonly leftOutBefore: number;
}

/** Judges a line by its fields and its message. */
type LogLimit = (fields: object, message: string) => LineVerdict;

/** Further lines with the same message about the same object within a minute are left out. */
const MAX_PER_MINUTE = 30;
const MINUTE_MS = 60_000;
/** Counts of more lines than these are not kept: from then on, lines of other objects share one count. */
const MAX_COUNTED = 50_000;

/** The fields that say which object a line is about, or who asks for what; the others say what happened to it. */
const OBJECT_FIELDS = [
  'maintenance',
  'node',
  'pod',
  'request',
  'key',
  'event',
  'daemonSet',
  'user',
  'file',
  'step',
  'verb',
];

function objectOf(fields: object): string {
  const known = fields as Readonly<Record<string, unknown>>;
  return JSON.stringify(OBJECT_FIELDS.map((name) => (typeof known[name] === 'string' ? known[name] : '')));
}

/** Makes the limit of one log; `monotonic` reads a monotonic clock in milliseconds. */
export function createLogLimit(monotonic: () => number): LogLimit {
  const counts = new Map<string, number>();
  let leftOut = 0;
  let since = monotonic();
  /** Begins another minute where this one is over; returns what was left out in the one before. */
  const begin = (): number => {
    const now = monotonic();
    if (now - since < MINUTE_MS) return 0;
    const before = leftOut;
    since = now;
    leftOut = 0;
    counts.clear();
    return before;
  };
  return (fields, message) => {
    const leftOutBefore = begin();
    const key = `${message} ${objectOf(fields)}`;
    const counted = counts.has(key) || counts.size < MAX_COUNTED ? key : message;
    const count = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, count);
    const isWritten = count <= MAX_PER_MINUTE;
    if (!isWritten) leftOut += 1;
    return { isWritten, leftOutBefore };
  };
}
