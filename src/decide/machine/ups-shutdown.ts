/** Whether a UPS monitor leaves a shutdown the time of its drain, and what is wrong where it does not. */
import type { Problem } from './logind-delay.ts';
import type { ApcupsdSettings, UpsmonSettings } from './ups-settings.ts';

/** What the monitors on a machine are set to; undefined where one is not installed; a text says why it cannot be read. */
export interface UpsFacts {
  readonly upsmon: UpsmonSettings | string | undefined;
  readonly apcupsd: ApcupsdSettings | string | undefined;
  /** The key "maxHoldSec": the longest drain. */
  readonly maxHoldSec: number | undefined;
}

/** A fault; `fails` where it ends pods at every power failure. */
interface UpsProblem extends Problem {
  readonly fails: boolean;
}

/** How long a drain is taken to last where maxHoldSec does not bound it. */
const USUAL_DRAIN_SEC = 300;

const PAGE = 'docs/usage/ups.md';
const FORCING = new Set(['poweroff', 'halt', 'reboot', 'systemctl']);
const VERBS = new Set(['poweroff', 'halt', 'reboot', 'kexec']);

/** Whether one command, without the operators of a shell, goes down without asking logind. */
function forces(command: string): string | undefined {
  const words = command
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll(/["'()]/g, ''));
  const at = words.findIndex((word) => FORCING.has(word.slice(word.lastIndexOf('/') + 1)));
  const program = words[at]?.replace(/^.*\//, '');
  if (program === undefined) return undefined;
  const rest = words.slice(at + 1);
  if (program === 'systemctl' && !rest.some((word) => VERBS.has(word))) return undefined;
  const forced = rest.find((word) => word === '--force' || (/^-[a-z]+$/i.test(word) && /f/i.test(word)));
  return forced === undefined ? undefined : `${program} ${forced.startsWith('--') ? '--force' : '-f'}`;
}

/** What in a command goes down without asking logind; undefined where nothing known does. Nothing else of it is returned. */
export function forcedShutdown(command: string): string | undefined {
  if (/\/proc\/sysrq-trigger/.test(command)) return 'sysrq-trigger';
  for (const part of command.split(/[;&|\n]+/)) {
    const found = forces(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** How long a drain may last, in words and in seconds. */
function longestDrain(maxHoldSec: number | undefined): { readonly seconds: number; readonly words: string } {
  if (maxHoldSec !== undefined) return { seconds: maxHoldSec, words: `maxHoldSec, ${maxHoldSec} s` };
  return { seconds: USUAL_DRAIN_SEC, words: `no maxHoldSec bounds it; ${USUAL_DRAIN_SEC} s are assumed` };
}

function upsmonProblems(upsmon: UpsmonSettings, maxHoldSec: number | undefined): readonly UpsProblem[] {
  const { role, command, hostSyncSec, finalDelaySec, shutdownExit, cutsPower, isAlone } = upsmon;
  if (role === 'none') return [];
  const problems: UpsProblem[] = [];
  const forced = command === undefined ? undefined : forcedShutdown(command);
  if (forced !== undefined) {
    const message = `SHUTDOWNCMD of upsmon goes around logind (${forced}): no pod of this node is waited for`;
    problems.push({ message, fix: 'set SHUTDOWNCMD "/sbin/shutdown -h +0" in upsmon.conf', fails: true });
  }
  const drain = longestDrain(maxHoldSec);
  if (role === 'primary' && cutsPower && !isAlone && hostSyncSec + finalDelaySec < drain.seconds) {
    const message = `upsmon of this primary waits at most ${hostSyncSec} s (HOSTSYNC) for its secondaries and ${finalDelaySec} s more (FINALDELAY), and cuts the power of all after its own shutdown (POWERDOWNFLAG): drains of others may last longer (${drain.words})`;
    const fix = `raise HOSTSYNC in upsmon.conf, or drain earlier, as the battery allows: ${PAGE}; nothing where no other machine has this UPS`;
    problems.push({ message, fix, fails: false });
  }
  if (role === 'secondary' && shutdownExit !== 'when stopped' && shutdownExit < drain.seconds) {
    const when = shutdownExit === 0 ? 'at once' : `${shutdownExit} s`;
    const message = `upsmon of this secondary leaves its primary ${when} after SHUTDOWNCMD, before the drain is over (${drain.words}): the primary does not wait for this node`;
    const fix = `SHUTDOWNEXIT no in upsmon.conf, where upsmon knows it, and HOSTSYNC of the primary; else drain earlier: ${PAGE}`;
    problems.push({ message, fix, fails: false });
  }
  return problems;
}

function apcupsdProblems(apcupsd: ApcupsdSettings, maxHoldSec: number | undefined): readonly UpsProblem[] {
  const { batteryLevelPercent, minutes, timeoutSec, killDelaySec } = apcupsd;
  const drain = longestDrain(maxHoldSec);
  const problems: UpsProblem[] = [];
  if (killDelaySec > 0 && killDelaySec <= drain.seconds) {
    const message = `apcupsd cuts the power ${killDelaySec} s after it asks for the shutdown (KILLDELAY), although the node still drains (${drain.words})`;
    const fix =
      'set KILLDELAY 0 in apcupsd.conf: the script in system-shutdown cuts the power when the machine is down';
    problems.push({ message, fix, fails: false });
  }
  if (timeoutSec === 0 && minutes * 60 < drain.seconds) {
    const message = `apcupsd asks for the shutdown when the battery lasts ${minutes} min (MINUTES) or has ${batteryLevelPercent} % (BATTERYLEVEL): a drain may last longer (${drain.words})`;
    const fix = `raise MINUTES in apcupsd.conf, or begin the drain in its event onbattery: ${PAGE}`;
    problems.push({ message, fix, fails: false });
  }
  return problems;
}

/** All that is wrong, the worst first; empty where nothing is, or where no monitor is installed. */
export function upsProblems({ upsmon, apcupsd, maxHoldSec }: UpsFacts): readonly UpsProblem[] {
  const problems: UpsProblem[] = [];
  for (const found of [upsmon, apcupsd]) {
    if (typeof found === 'string') problems.push({ message: found, fix: 'run nodemaint doctor as root', fails: false });
  }
  if (typeof upsmon === 'object') problems.push(...upsmonProblems(upsmon, maxHoldSec));
  if (typeof apcupsd === 'object') problems.push(...apcupsdProblems(apcupsd, maxHoldSec));
  return problems.toSorted((a, b) => Number(b.fails) - Number(a.fails));
}

/** What is there, in words. */
export function describeUps({ upsmon, apcupsd }: UpsFacts): string {
  const found: string[] = [];
  if (typeof upsmon === 'object' && upsmon.role !== 'none') found.push(`upsmon (${upsmon.role})`);
  if (typeof apcupsd === 'object') found.push('apcupsd');
  return found.length === 0 ? 'no monitor of a UPS shuts this machine down' : `${found.join(' and ')} let a drain end`;
}
