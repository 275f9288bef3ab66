/**
 * One way down of a machine whose agent drains two static pods: how it begins, what happens in the middle of the drain,
 * and how it ends. A case leaves the machine as it found it, so that the next one can follow on the same disk.
 */
import assert from 'node:assert/strict';
import { AGENT_WATCHES } from './install.ts';
import type { Machine } from './machine.ts';
import { waitOnMachine, WITNESS, witnessed, witnessedIn } from './witness.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface ShutdownCase {
  readonly name: string;
  /** Makes the machine go down: a command line on it, or something from outside. */
  readonly begin: string | ((machine: Machine) => Promise<void>);
  /** A command line in the middle of the drain, after the first pod was told to end. */
  readonly meanwhile?: string;
  /** How it ends; after "called off" everything is back without a boot, and "reboot undrained" is seen after the fact. */
  readonly ends: 'reboot' | 'reboot undrained' | 'soft-reboot' | 'off' | 'halt' | 'called off';
  /** What the agent's log says, of the boot in which it went down. */
  readonly says?: RegExp;
  /** Who tells in which order pods ended: the pods, or the agent's log where containers cannot be signalled. */
  readonly orderBy?: 'agent';
  /** Command lines that prepare the case and undo that. */
  readonly before?: string;
  readonly after?: string;
}

const PODS = ['low', 'high'];
/** In the command line of each pod's process, and not in that of who looks for it. */
const WITNESS_MARK = 'TER[M].*witness/log';
/** How systemd says that the machine goes down for good. */
const DOWN = /systemd\[1\]: (?:Stopping kubelet|Reached target .*[Ss]hutdown)/;
const DRAIN_MS = 180_000;
const MEANWHILE_MS = 400_000;
const BACK_MS = 300_000;

/** Cheap questions first. */
const ALL_BACK = [
  ...PODS.map((name) => `[ -f /etc/kubernetes/manifests/${name}.yaml ]`),
  `[ "$(pgrep -fc '${WITNESS_MARK}')" -ge ${PODS.length} ]`,
  AGENT_WATCHES,
].join(' && ');

/** Waits until both pods run and the agent watches. */
export async function allBack(machine: Machine): Promise<void> {
  await machine.waitForSsh();
  await waitOnMachine(machine, ALL_BACK, BACK_MS).catch(async (error: unknown) => {
    const said = await machine.must('nodemaint status; ctr -n k8s.io tasks ls; journalctl -u nodemaint -b | tail -20');
    throw new Error(said, { cause: error });
  });
}

/** Where a machine is that begins anew without its kernel: systemd counts that from 256 on. */
async function softReboots(machine: Machine): Promise<number> {
  const manager = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
  const text = await machine.must(['busctl', 'get-property', ...manager, 'SoftRebootsCount'], { timeoutMs: 10_000 });
  return Number(text.trim().split(' ')[1]);
}

async function waitForSoftReboot(machine: Machine, before: number): Promise<void> {
  const counted = async (): Promise<boolean> => (await softReboots(machine).catch(() => before)) > before;
  await waitFor('systemd begins anew', counted, { timeoutMs: BACK_MS });
}

/** What tells that the machine went down since. */
interface Before {
  readonly bootId: string;
  /** Counted only where the case is about them. */
  readonly softReboots: number;
}

async function goThrough(machine: Machine, { ends }: ShutdownCase, before: Before): Promise<void> {
  const { bootId } = before;
  if (ends === 'soft-reboot') await waitForSoftReboot(machine, before.softReboots);
  else if (ends === 'reboot' || ends === 'reboot undrained') await machine.waitForReboot(bootId, BACK_MS);
  else if (ends === 'off') await machine.waitForExit(BACK_MS);
  else if (ends === 'halt') {
    const halted = async (): Promise<boolean> => /System halted/.test((await machine.serial()).slice(-2000));
    await waitFor('the machine halts', halted, { timeoutMs: BACK_MS });
    await machine.powerCut();
  }
  if (ends === 'off' || ends === 'halt') await machine.boot();
}

/** Cuts the power of a machine that does not go down, and returns what its journal says of that; it is on again after. */
async function lastWords(machine: Machine): Promise<string> {
  await machine.powerCut();
  await machine.boot();
  const told = 'journalctl -b -1 -o short-iso-precise --no-pager -u nodemaint -u kubelet -u containerd -u init.scope';
  return await machine.must(`${told} -t witness -t systemd-logind | tail -150 | cut -c1-400`, { timeoutMs: 120_000 });
}

/** In which order pods ended, and that the machine went down only then. */
function assertOrder(journal: readonly string[], what: string): void {
  assert.deepEqual(witnessedIn(journal), ['low TERM', 'low END', 'high TERM', 'high END'], what);
  const lastEnd = journal.findIndex((line) => line.endsWith(': high END'));
  // The last time: a case may have restarted the kubelet before.
  const down = journal.findLastIndex((line) => DOWN.test(line));
  assert.ok(down > lastEnd, `${what}: the kubelet stops at line ${down}, the last pod ended at ${lastEnd}`);
}

/** In which order the agent drained, by its log, and that the machine went down only then. */
function assertDrained(journal: readonly string[], what: string): void {
  const steps = [/parked manifest.* manifest=low\.yaml/, /parked manifest.* manifest=high\.yaml/, /have left/, DOWN];
  const places = steps.map((step) => journal.findLastIndex((line) => step.test(line)));
  assert.ok(
    places.every((place, index) => place > (places[index - 1] ?? -1)),
    `${what}: ${places.join(' ')}`,
  );
}

/** Runs a case; returns what happened in one line, for the table. */
export async function runCase(machine: Machine, shutdown: ShutdownCase): Promise<string> {
  const { name, begin, meanwhile, ends, says, before, after } = shutdown;
  if (before !== undefined) await machine.must(before, { timeoutMs: 120_000 });
  await allBack(machine);
  await machine.must(`: > ${WITNESS}/log`);
  const since = (await machine.must('date +%s')).trim();
  const bootId = await machine.bootId();
  const there: Before = { bootId, softReboots: ends === 'soft-reboot' ? await softReboots(machine) : 0 };
  const startedAt = performance.now();
  if (typeof begin === 'string') await machine.ssh(begin);
  else await begin(machine);
  if (meanwhile !== undefined) {
    await witnessed(machine, 'low TERM', DRAIN_MS);
    await machine.must(meanwhile, { timeoutMs: MEANWHILE_MS });
  }
  await goThrough(machine, shutdown, there).catch(async (error: unknown) => {
    throw new Error(await lastWords(machine), { cause: error });
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  await allBack(machine);
  const sameBoot = ends === 'called off' || ends === 'soft-reboot';
  const isDrained = ends !== 'called off' && ends !== 'reboot undrained';
  const boot = sameBoot || !isDrained ? '-b' : '-b -1';
  const text = await machine.must(`journalctl ${boot} --since @${since} -o short-iso-precise --no-pager`, {
    timeoutMs: 120_000,
  });
  if (sameBoot) assert.equal(await machine.bootId(), bootId, name);
  if (isDrained) (shutdown.orderBy === 'agent' ? assertDrained : assertOrder)(text.split('\n'), name);
  if (says !== undefined) assert.match(text, says, name);
  if (after !== undefined) await machine.must(after, { timeoutMs: 120_000 });
  return `${name}: ${ends} after ${seconds} s`;
}
