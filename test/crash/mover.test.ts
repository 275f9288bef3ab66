import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { formatStep } from '../../src/static-pods/journal/journal.ts';
import { Mover } from '../../src/static-pods/mover.ts';
import { type MoverPaths } from '../../src/static-pods/places.ts';
import { createKillingDisk, MOMENTS, type Moment } from '../support/disks/killing-disk.ts';
import { createQuickDisk } from '../support/disks/quick-disk.ts';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { isThorough } from '../support/thorough.ts';
import { type CrashCase, type CrashPlan, contentOf, namesOf, runPlan, sha256Of } from './mover-plan.ts';

/** Larger plans have more cases of the same kinds. */
const MAX_PLAN = isThorough('plans of more than 7 manifests') ? 12 : 7;
/** Plans of up to this size go over the machine's disk as the agent uses it, larger ones over the quick one. */
const FULL_PLAN = 2;
/** Cases that one process carries out; each of them is killed with it. */
const BATCH = 200;
const NEVER = { at: 0, moment: 'before' } as const;
const CHILD = path.join(import.meta.dirname, 'mover-child.ts');

class Killed extends Error {}

type Variant = Pick<CrashPlan, 'verb'>;
type Cut = Pick<CrashCase, 'at' | 'moment'>;

function pathsIn(root: string): MoverPaths {
  return {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
}

/** Makes the state from which a plan starts; without the mover, as there are thousands. */
function prepare(root: string, files: readonly string[], { verb }: Variant): void {
  const { staticPodPath, parkedPath, journalPath } = pathsIn(root);
  for (const folder of [staticPodPath, parkedPath, path.dirname(journalPath)]) mkdirSync(folder, { recursive: true });
  const place = verb === 'park' ? staticPodPath : parkedPath;
  for (const file of files) writeFileSync(path.join(place, file), contentOf(file));
  if (verb === 'park') return;
  const owner = { mode: 0o644, uid: 0, gid: 0 };
  const steps = files.map((file) => {
    const origin = { path: path.join(staticPodPath, file), parkedPath, ...owner };
    return formatStep({ op: 'park', file, sha256: sha256Of(file), maintenance: 'm', at: 1, bootId: 'b', origin });
  });
  writeFileSync(journalPath, steps.join(''));
}

/** Asserts that each manifest is there once, byte for byte, with nothing beside it; returns those in place. */
function assertWhole(paths: MoverPaths, files: readonly string[]): readonly string[] {
  const inPlace = readdirSync(paths.staticPodPath);
  const parked = readdirSync(paths.parkedPath);
  assert.deepEqual([...inPlace, ...parked].sort(), [...files].sort(), 'every manifest once, and nothing else');
  for (const [directory, names] of [
    [paths.staticPodPath, inPlace],
    [paths.parkedPath, parked],
  ] as const) {
    for (const name of names) assert.equal(readFileSync(path.join(directory, name), 'utf8'), contentOf(name));
  }
  return inPlace;
}

/** What a start after the end finds, and that all can be given back. */
async function assertRecovers(paths: MoverPaths, files: readonly string[]): Promise<void> {
  const mover = new Mover(paths, createQuickDisk());
  assert.deepEqual(await mover.recover(), { failed: [], missing: [], problems: [] });
  const inPlace = assertWhole(paths, files);
  for (const file of files) if (!inPlace.includes(file)) assert.equal(await mover.restore(file), 'restored');
  assert.equal(assertWhole(paths, files).length, files.length);
}

/** All places at which a plan can end, found by letting it run to its end. Half a change is only where one writes. */
async function cutsOf(root: string, files: readonly string[], variant: Variant): Promise<readonly Cut[]> {
  prepare(root, files, variant);
  const paths = pathsIn(root);
  const { disk, changes } = createKillingDisk(createQuickDisk(), NEVER, () => Promise.reject(new Killed()));
  const writes = new Set<number>();
  const note =
    <A extends unknown[]>(call: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      writes.add(changes() + 1);
      await call(...args);
    };
  await runPlan(new Mover(paths, { ...disk, append: note(disk.append) }), { paths, files, ...variant });
  await rm(root, { recursive: true });
  return Array.from({ length: changes() }, (_, index) => index + 1).flatMap((at) =>
    MOMENTS.filter((moment) => moment !== 'half' || writes.has(at)).map((moment) => ({ at, moment })),
  );
}

/** Runs the cases in one process that is killed when all stand at their ends. */
async function killAll(root: string, cases: readonly CrashCase[]): Promise<void> {
  const file = path.join(root, 'cases.json');
  await writeFile(file, JSON.stringify(cases));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, file], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.deepEqual({ code, signal }, { code: null, signal: 'SIGKILL' });
}

async function crashEverywhere(t: TestContext, variant: Variant): Promise<void> {
  const root = await createQuickFolder('crash');
  t.after(() => rm(root, { recursive: true }));
  let total = 0;
  for (let size = 1; size <= MAX_PLAN; size += 1) {
    const files = namesOf(size);
    const cuts = await cutsOf(path.join(root, 'count'), files, variant);
    for (let from = 0; from < cuts.length; from += BATCH) {
      const folder = path.join(root, `${size}-${from}`);
      const cases = cuts.slice(from, from + BATCH).map((cut, index) => {
        const place = path.join(folder, String(index));
        return { place, plan: { paths: pathsIn(place), files, ...variant, ...cut, quick: size > FULL_PLAN } };
      });
      for (const { place } of cases) prepare(place, files, variant);
      await killAll(
        folder,
        cases.map(({ plan }) => plan),
      );
      const checks = cases.map(async ({ plan: { paths, at, moment } }) => {
        await assertRecovers(paths, files).catch((error: unknown) => {
          throw new Error(`${size} manifests, killed ${moment} change ${at}`, { cause: error });
        });
      });
      await Promise.all(checks);
      total += cases.length;
      await rm(folder, { recursive: true });
    }
  }
  t.diagnostic(`${total} cases`);
}

describe(`a mover that is killed before, in and after each change of the disk, with plans of 1 to ${MAX_PLAN} manifests`, () => {
  for (const verb of ['park', 'restore'] as const) {
    it(`the mover ${verb}s with every manifest once and byte for byte`, (t) => crashEverywhere(t, { verb }));
  }
});

describe('a mover that is killed a second time, during the recovery', () => {
  for (const verb of ['park', 'restore'] as const) {
    it(`the mover recovers from that too: ${verb}`, async (t) => {
      const root = await createQuickFolder('crash');
      t.after(() => rm(root, { recursive: true }));
      const files = namesOf(2);
      const variant = { verb };
      const run = async (cut: Cut, body: CrashPlan): Promise<boolean> => {
        const { disk } = createKillingDisk(createQuickDisk(), cut, () => Promise.reject(new Killed()));
        const mover = new Mover(body.paths, disk);
        try {
          if (body.files.length > 0) await runPlan(mover, body);
          else if ((await mover.recover()).failed.length > 0) return false;
          return true;
        } catch {
          return false;
        }
      };
      const cuts = await cutsOf(path.join(root, 'count'), files, variant);
      let total = 0;
      for (const first of cuts) {
        for (let at = 1, ended = false; !ended; at += 1) {
          const place = path.join(root, 'run');
          prepare(place, files, variant);
          const paths = pathsIn(place);
          await run(first, { paths, verb, files });
          const moment: Moment = at % 2 === 0 ? 'before' : 'after';
          ended = await run({ at, moment }, { paths, verb, files: [] });
          await assertRecovers(paths, files);
          await rm(place, { recursive: true });
          total += 1;
        }
      }
      t.diagnostic(`${total} cases`);
    });
  }
});
