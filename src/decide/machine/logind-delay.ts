/**
 * Which of logind's configuration files sets how long a lock may delay a shutdown (logind.conf(5), "Configuration
 * Directories and Precedence"). Other programs set it too: unattended-upgrades to 30 s, the kubelet to its grace period.
 */

/** The drop-in that install.sh installs. */
export const OWN_DROP_IN = 'zz-nodemaint.conf';
/** The delay that it sets, in milliseconds. A shorter one is reported as a problem. */
export const WANTED_DELAY_MS = 604_800_000;

/** A configuration file. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** The assignment that is in effect. */
export interface DelaySetting {
  readonly path: string;
  /** As it is written in the file. */
  readonly value: string;
}

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    us: 0.001,
    usec: 0.001,
    ms: 1,
    msec: 1,
    '': 1_000,
    s: 1_000,
    sec: 1_000,
    second: 1_000,
    seconds: 1_000,
    m: 60_000,
    min: 60_000,
    minute: 60_000,
    minutes: 60_000,
    h: 3_600_000,
    hr: 3_600_000,
    hour: 3_600_000,
    hours: 3_600_000,
    d: 86_400_000,
    day: 86_400_000,
    days: 86_400_000,
    w: 604_800_000,
    week: 604_800_000,
    weeks: 604_800_000,
  }),
);

/** Parses a time span such as "1h 30min" (systemd.time(7)) to milliseconds; undefined if systemd would refuse it. */
export function parseTimeSpan(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === 'infinity') return Number.POSITIVE_INFINITY;
  if (trimmed === '') return undefined;
  // One part at a time, each starting where the last one ended: one pattern for all of them could backtrack for very long.
  const part = /(\d+(?:\.\d+)?)\s*([a-z]*)\s*/y;
  let total = 0;
  while (part.lastIndex < trimmed.length) {
    const [, count, unit = ''] = part.exec(trimmed) ?? [];
    const factor = UNIT_MS.get(unit);
    if (count === undefined || factor === undefined) return undefined;
    total += Number(count) * factor;
  }
  return total;
}

/**
 * The drop-ins in the order in which logind reads them: sorted by name, whatever their directory. Of several with the same
 * name only the one in the first directory is read.
 */
export function orderDropIns(
  directories: readonly string[],
  namesIn: (directory: string) => readonly string[],
): readonly string[] {
  const chosen = new Map<string, string>();
  for (const directory of directories) {
    for (const name of namesIn(directory)) {
      if (name.endsWith('.conf') && !chosen.has(name)) chosen.set(name, `${directory}/${name}`);
    }
  }
  return [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
}

/** The last valid InhibitDelayMaxSec, which is in effect. `files` must be in the order in which logind reads them. */
export function winningDelay(files: readonly ConfigFile[]): DelaySetting | undefined {
  let winner: DelaySetting | undefined;
  for (const { path, text } of files) {
    let section = '';
    for (const line of text.replaceAll(/\\\n/g, ' ').split('\n')) {
      section = /^\s*\[([^\]]*)\]\s*$/.exec(line)?.[1] ?? section;
      const value = /^\s*InhibitDelayMaxSec\s*=(.*)$/.exec(line)?.[1]?.trim();
      if (section === 'Login' && value !== undefined && parseTimeSpan(value) !== undefined) winner = { path, value };
    }
  }
  return winner;
}

/** A problem that a person should fix. */
interface Problem {
  readonly message: string;
  readonly fix: string;
}

/** What is wrong with the delay; undefined if nothing is. */
export function delayProblem(effectiveMs: number, winner: DelaySetting | undefined): Problem | undefined {
  if (effectiveMs >= WANTED_DELAY_MS) return undefined;
  const only = `logind lets locks delay a shutdown for ${effectiveMs / 1000} s only`;
  if (winner === undefined)
    return { message: `${only}: ${OWN_DROP_IN} is not installed`, fix: 'run install.sh of the release as root' };
  const { path, value } = winner;
  if (!path.endsWith(`/${OWN_DROP_IN}`)) {
    const fix =
      'remove it, or mask it by a link to /dev/null under its name in /etc/systemd/logind.conf.d; then systemctl kill -s HUP systemd-logind';
    return { message: `${only}: ${path} (InhibitDelayMaxSec=${value}) wins over ${OWN_DROP_IN}`, fix };
  }
  if (parseTimeSpan(value) === effectiveMs)
    return { message: `${only}: ${path} was changed`, fix: 'run install.sh of the release as root' };
  const fix = 'systemctl kill -s HUP systemd-logind';
  return { message: `${only}, although ${path} says ${value}`, fix };
}
