/**
 * One way down of a machine whose agent drains two static pods: how it begins, what happens in the middle of the drain,
 * and how it ends. A case leaves the machine as it found it, so that the next one can follow on the same disk.
 */
import assert from 'node:assert/strict';
import { waitUntil } from '../../control-plane/process.ts';
import type { Machine } from './machine.ts';
import { WITNESS } from './witness.ts';

export interface ShutdownCase {
  readonly name: string;
  /** Whether the gate runs it too. */
  readonly gate?: boolean;
  /** Makes the machine go down: a command line on it, or something from outside. */
  readonly begin: string | ((machine: Machine) => Promise<void>);
  /** A command line in the middle of the drain, after the first pod was told to end. */
  readonly meanwhile?: string;
  /** How it ends; after "called off" everything is back without a boot. */
  readonly ends: 'reboot' | 'off' | 'halt' | 'called off';
  /** What the agent's log says, of the boot in which it went down. */
  readonly says?: RegExp;
  /** Command lines that prepare the case and undo that. */
  readonly before?: string;
  readonly after?: string;
}

const PODS = ['low', 'high'];
const DRAIN_MS = 180_000;
const BACK_MS = 300_000;

async function isRunning(machine: Machine, pods: readonly string[]): Promise<boolean> {
  const { stdout } = await machine.ssh(
    'ctr -n k8s.io tasks ls; ls /etc/kubernetes/manifests; nodemaint status -o json',
  );
  const there = pods.every((name) => stdout.includes(`${name}.yaml`));
  return there && stdout.includes('"kind": "watching"') && (stdout.match(/RUNNING/g) ?? []).length >= 2 * pods.length;
}

/** Waits until both pods run and the agent watches. */
export async function allBack(machine: Machine): Promise<void> {
  const options = { timeoutMs: BACK_MS };
  const running = async (): Promise<boolean> => await isRunning(machine, PODS).catch(() => false);
  await waitUntil('pods run and the agent watches', running, options, AbortSignal.timeout(BACK_MS)).catch(
    async (error: unknown) => {
      const said = await machine.must(
        'nodemaint status; ctr -n k8s.io tasks ls; journalctl -u nodemaint -b | tail -20',
      );
      throw new Error(said, { cause: error });
    },
  );
}

async function midDrain(machine: Machine): Promise<void> {
  const seen = async (): Promise<boolean> => (await machine.must(`cat ${WITNESS}/log`)).includes('low TERM');
  await waitUntil('the first pod is told to end', seen, { timeoutMs: DRAIN_MS }, AbortSignal.timeout(DRAIN_MS));
}

async function goThrough(machine: Machine, { ends }: ShutdownCase, bootId: string): Promise<void> {
  if (ends === 'reboot') await machine.waitForReboot(bootId, BACK_MS);
  else if (ends === 'off') await machine.waitForExit(BACK_MS);
  else if (ends === 'halt') {
    const halted = async (): Promise<boolean> => /System halted/.test((await machine.serial()).slice(-2000));
    await waitUntil('the machine halts', halted, { timeoutMs: BACK_MS }, AbortSignal.timeout(BACK_MS));
    await machine.powerCut();
  }
  if (ends === 'off' || ends === 'halt') await machine.boot();
}

/** In which order pods ended, and that the machine went down only then. */
function assertOrder(journal: readonly string[], what: string): void {
  const witnessed = journal.flatMap((line) => /witness\[\d+\]: (\w+ (?:TERM|END))$/.exec(line)?.[1] ?? []);
  assert.deepEqual(witnessed, ['low TERM', 'low END', 'high TERM', 'high END'], what);
  const lastEnd = journal.findIndex((line) => line.endsWith(': high END'));
  const down = journal.findIndex((line) =>
    /systemd\[1\]: (?:Stopping kubelet|Reached target .*[Ss]hutdown)/.test(line),
  );
  assert.ok(down > lastEnd, `${what}: the kubelet stops at line ${down}, the last pod ended at ${lastEnd}`);
}

/** Runs a case; returns what happened in one line, for the table. */
export async function runCase(machine: Machine, shutdown: ShutdownCase): Promise<string> {
  const { name, begin, meanwhile, ends, says, before, after } = shutdown;
  if (before !== undefined) await machine.must(before, { timeoutMs: 120_000 });
  await allBack(machine);
  await machine.must(`: > ${WITNESS}/log`);
  const since = (await machine.must('date +%s')).trim();
  const bootId = await machine.bootId();
  const startedAt = performance.now();
  if (typeof begin === 'string') await machine.ssh(begin);
  else await begin(machine);
  if (meanwhile !== undefined) {
    await midDrain(machine);
    await machine.must(meanwhile, { timeoutMs: 120_000 });
  }
  await goThrough(machine, shutdown, bootId);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  await allBack(machine);
  const boot = ends === 'called off' ? '-b' : '-b -1';
  const text = await machine.must(`journalctl ${boot} --since @${since} -o short-iso-precise --no-pager`, {
    timeoutMs: 120_000,
  });
  if (ends === 'called off') assert.equal(await machine.bootId(), bootId, name);
  else assertOrder(text.split('\n'), name);
  if (says !== undefined) assert.match(text, says, name);
  if (after !== undefined) await machine.must(after, { timeoutMs: 120_000 });
  return `${name}: ${ends} after ${seconds} s`;
}
