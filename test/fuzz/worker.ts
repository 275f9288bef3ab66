/** One target in a thread of its own, which may hang or use up its memory without harm. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { BATCH, batchOf } from './inputs.ts';
import type { FuzzInput } from './target.ts';
import { TARGETS } from './targets.ts';

/** What a worker is to do. */
export interface Assignment {
  readonly target: string;
  readonly seed: number;
  /** The first input, by its number; inputs of a seed are always the same. */
  readonly from: number;
  /** How many; Infinity until it is ended. */
  readonly count: number;
  /** Three numbers: the number of the input, inputs done, and 1 while an input is tried. */
  readonly progress: SharedArrayBuffer;
}

/** What a worker tells. */
export type WorkerNews =
  | { readonly kind: 'find'; readonly number: number; readonly why: string }
  | { readonly kind: 'ready' | 'done' };

/** More resident memory than this for one input is a find, in bytes. */
const MAX_GROWTH = 256 * 1024 * 1024;

/** A folder for the target, with a link out of it, beside files that no target may touch. */
async function makeSandbox(): Promise<{ root: string; inside: string; fingerprint: () => Promise<string> }> {
  const root = await createQuickFolder('fuzz');
  const [inside, canary] = [path.join(root, 'inside'), path.join(root, 'canary')];
  await mkdir(inside);
  await mkdir(canary);
  await writeFile(path.join(canary, 'a.yaml'), 'untouched\n');
  await symlink(canary, path.join(inside, 'link'));
  const fingerprint = async (): Promise<string> => {
    const names = [...(await readdir(root)), ...(await readdir(canary))].join(' ');
    const text = await readFile(path.join(canary, 'a.yaml'), 'utf8').catch(() => 'gone');
    return createHash('sha256').update(`${names}\n${text}`).digest('hex');
  };
  return { root, inside, fingerprint };
}

async function work({ target: name, seed, from, count, progress }: Assignment): Promise<void> {
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw new Error(`there is no target ${name}`);
  const counters = new Int32Array(progress);
  const sandbox = await makeSandbox();
  const before = await sandbox.fingerprint();
  let number = from;
  const tell = (news: WorkerNews): void => parentPort?.postMessage(news);
  const find = (error: unknown): void => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tell({ kind: 'find', number, why });
  };
  process.on('uncaughtException', find);
  process.on('unhandledRejection', find);
  const trial = await target.open(sandbox.inside);
  tell({ kind: 'ready' });
  let batch: readonly FuzzInput[] = [];
  for (let done = 0; done < count; done += 1) {
    const index = number % BATCH;
    if (done === 0 || index === 0) batch = batchOf(target, seed, Math.floor(number / BATCH));
    Atomics.store(counters, 0, number);
    Atomics.store(counters, 2, 1);
    const rss = process.memoryUsage.rss();
    try {
      await trial.run(batch[index] ?? '');
    } catch (error) {
      find(error);
    }
    Atomics.store(counters, 2, 0);
    const grown = process.memoryUsage.rss() - rss;
    if (grown > MAX_GROWTH) find(new Error(`memory grew by ${Math.round(grown / 2 ** 20)} MiB`));
    if (index === BATCH - 1 && (await sandbox.fingerprint()) !== before) find(new Error('wrote outside of its folder'));
    Atomics.add(counters, 1, 1);
    number += 1;
  }
  await trial.close?.();
  await rm(sandbox.root, { recursive: true });
  tell({ kind: 'done' });
}

if (parentPort !== null) await work(workerData as Assignment);
