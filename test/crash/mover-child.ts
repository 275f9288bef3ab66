/**
 * Carries out plans of the mover, each in a sandbox of its own, until each stands at its change of the disk; then the
 * process is killed. Prints nothing: what counts is what lies on the disk. Its argument: a file with the plans in JSON.
 */
import { readFile } from 'node:fs/promises';
import { createDisk } from '../../src/static-pods/disk/disk.ts';
import { Mover } from '../../src/static-pods/mover.ts';
import { createKillingDisk } from '../support/disks/killing-disk.ts';
import { createQuickDisk } from '../support/disks/quick-disk.ts';
import { type CrashCase, runPlan } from './mover-plan.ts';

const cases = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as readonly CrashCase[];
let standing = 0;
const stand = (): Promise<never> => {
  standing += 1;
  if (standing === cases.length) process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
// A process with nothing to wait for would end by itself, and not be killed.
setInterval(() => undefined, 60_000);
const run = async (plan: CrashCase): Promise<void> => {
  const { disk } = createKillingDisk(plan.quick ? createQuickDisk() : createDisk(), plan, stand);
  await runPlan(new Mover(plan.paths, disk), plan);
  throw new Error(`no change ${plan.at}`);
};
await Promise.all(cases.map(run));
