/**
 * `npm run endurance -- [--reboots N] [--power-cuts N] [--hours N] [--folder DIR]`: a machine that is the only control plane of its
 * cluster, with the product as shipped, is rebooted and loses its power, again and again. Each time is a line of DIR/played.jsonl.
 * It goes on where it stopped: with the same disk of the machine, which is made once, and takes a quarter of an hour without KVM.
 */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '../control-plane/port.ts';
import { machineImage } from '../e2e/machine/image.ts';
import { bootMachine } from '../e2e/machine/machine.ts';
import {
  assertInOrder,
  cutPower,
  makeSoleCluster,
  MEMORY_MIB,
  rebootInOrder,
  type SoleCluster,
} from '../e2e/machine/sole-cluster.ts';
import { PORT, soleControlPlaneAt } from '../e2e/machine/sole-control-plane.ts';
import { type Kind, nextKind, parseTally, type Played, tableOf, type Wanted } from './tally.ts';

/** A cut comes within the time that the last reboot took until its shell was back; this long before there was one. */
const FIRST_SPAN_SEC = 60;

const { values } = parseArgs({
  options: {
    reboots: { type: 'string', default: '100' },
    'power-cuts': { type: 'string', default: '200' },
    hours: { type: 'string', default: '2' },
    folder: { type: 'string', default: '/var/tmp/nodemaint-endurance' },
  },
});
const wanted: Wanted = { reboot: Number(values.reboots), 'power cut': Number(values['power-cuts']) };
const endsAt = performance.now() + Number(values.hours) * 3_600_000;
const folder = path.resolve(values.folder);
const tallyFile = path.join(folder, 'played.jsonl');
const madeFile = path.join(folder, 'made');

const say = (text: string): void => console.log(`${new Date().toISOString()} ${text}`);

async function readIfThere(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
}

/** The cluster as it was left, or a new one; the file with the checksums of its manifests says that it was made to the end. */
async function clusterIn(stack: AsyncDisposableStack, signal: AbortSignal): Promise<SoleCluster> {
  const port = await freePort();
  const access = { port, folder };
  const equipment = { memoryMib: MEMORY_MIB, ports: new Map([[port, PORT]]), folder };
  const machine = stack.use(await bootMachine(await machineImage(signal), equipment, signal));
  say('machine up');
  const manifests = await readIfThere(madeFile);
  if (manifests !== undefined) return { ...(await soleControlPlaneAt(access, signal)), machine, manifests };
  const made = await makeSoleCluster(machine, access, say, signal);
  await writeFile(madeFile, made.manifests);
  return made;
}

/** Lets the machine go down once; a machine that is not in order afterwards is a line with a failure, not an error. */
async function play(cluster: SoleCluster, kind: Kind, spanSec: number): Promise<Omit<Played, 'commit'>> {
  const at = new Date().toISOString();
  const began = performance.now();
  const cutAfterSec = kind === 'power cut' ? Math.round(Math.random() * spanSec * 10) / 10 : undefined;
  const base = { kind, at, ...(cutAfterSec === undefined ? {} : { cutAfterSec }) };
  try {
    if (cutAfterSec !== undefined) return { ...base, seconds: await cutPower(cluster, cutAfterSec) };
    const { journal, shellSec, orderSec } = await rebootInOrder(cluster);
    console.log(journal.join('\n'));
    return { ...base, seconds: orderSec, shellSec };
  } catch (error) {
    const seconds = Math.round((performance.now() - began) / 1000);
    return { ...base, seconds, failure: error instanceof Error ? error.message.slice(0, 4096) : String(error) };
  }
}

async function main(signal: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { stdout } = await promisify(execFile)('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname });
  const commit = stdout.trim();
  const played = [...parseTally((await readIfThere(tallyFile)) ?? '')];
  // Without a last line that was cut off.
  await writeFile(tallyFile, played.map((each) => `${JSON.stringify(each)}\n`).join(''));
  await using stack = new AsyncDisposableStack();
  const cluster = await clusterIn(stack, signal);
  await assertInOrder(cluster);
  for (;;) {
    const kind = nextKind(played, wanted);
    if (kind === undefined || performance.now() >= endsAt) break;
    const spanSec = played.findLast(({ shellSec }) => shellSec !== undefined)?.shellSec ?? FIRST_SPAN_SEC;
    const entry = { ...(await play(cluster, kind, spanSec)), commit };
    await appendFile(tallyFile, `${JSON.stringify(entry)}\n`);
    played.push(entry);
    say(`${kind}: ${entry.failure ?? 'in order'} after ${entry.seconds} s`);
    console.log(tableOf(played, wanted));
    if (entry.failure !== undefined) {
      process.exitCode = 1;
      say(`the machine is left as it is: ${folder}`);
      break;
    }
  }
  console.log(tableOf(played, wanted));
}

await main(new AbortController().signal);
