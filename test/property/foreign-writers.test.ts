import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Disk } from '../../src/static-pods/disk/disk.ts';
import { Mover } from '../../src/static-pods/mover.ts';
import { type MoverPaths } from '../../src/static-pods/places.ts';
import { createQuickDisk } from '../support/disks/quick-disk.ts';
import { createQuickFolder } from '../support/disks/quick-folder.ts';
import { isThorough } from '../support/thorough.ts';

/** Other ones each time. */
const RUNS = isThorough('more than 3,000 runs') ? 10_000 : 3_000;
const FILES = ['a.yaml', 'b.yaml'];

/** What another writer does to the static pod directory, and what the mover is asked to do. */
type Foreign = { readonly kind: 'replace' | 'open' | 'finish' | 'delete'; readonly file: number; readonly gap: number };
type Told = { readonly kind: 'park' | 'restore' | 'recover'; readonly file: number; readonly dieAfter: number };

const foreign: fc.Arbitrary<Foreign> = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'open', 'finish', 'delete'),
  file: fc.nat(1),
  // Calls of the disk between this and the one before.
  gap: fc.nat(15),
});
const told: fc.Arbitrary<Told> = fc.record({
  kind: fc.constantFrom('park', 'park', 'restore', 'recover'),
  file: fc.nat(1),
  // Most orders are carried out whole.
  dieAfter: fc.oneof(fc.constant(1_000), fc.nat(30)),
});

class Died extends Error {}

/** The people and programs that write manifests without knowing of the mover. */
class Writers {
  readonly #directory: string;
  readonly #open: { fd: number; rest: string; content: string; spoiled: boolean }[] = [];
  #count = 0;
  /** What was written whole and that no writer has since written over or deleted. */
  readonly finished = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  act({ kind, file }: Foreign): void {
    const place = path.join(this.#directory, FILES[file] ?? '');
    if (kind === 'finish') this.#finish();
    if (kind === 'delete' && this.#forget(place)) unlinkSync(place);
    if (kind === 'replace') {
      const content = this.#next();
      const temporary = path.join(this.#directory, '.new');
      writeFileSync(temporary, content);
      this.#forget(place);
      renameSync(temporary, place);
      this.finished.add(content);
    }
    if (kind === 'open') {
      const content = this.#next();
      this.#forget(place);
      const fd = openSync(place, 'w');
      writeSync(fd, content.slice(0, 5));
      // Two that write into one file at a time spoil it for each other.
      const rivals = this.#open.filter((other) => fstatSync(other.fd).ino === fstatSync(fd).ino);
      for (const rival of rivals) rival.spoiled = true;
      this.#open.push({ fd, rest: content.slice(5), content, spoiled: rivals.length > 0 });
    }
  }

  finishAll(): void {
    while (this.#open.length > 0) this.#finish();
  }

  #next(): string {
    this.#count += 1;
    return `content ${this.#count} of a writer`;
  }

  #finish(): void {
    const writer = this.#open.shift();
    if (writer === undefined) return;
    writeSync(writer.fd, writer.rest);
    closeSync(writer.fd);
    if (!writer.spoiled) this.finished.add(writer.content);
  }

  /** The writers themselves end what is under a name, and what is still being written into it. */
  #forget(place: string): boolean {
    if (!existsSync(place)) return false;
    this.finished.delete(readFileSync(place, 'utf8'));
    const { ino } = lstatSync(place);
    for (const writer of this.#open) if (fstatSync(writer.fd).ino === ino) writer.spoiled = true;
    return true;
  }
}

/** A disk with a turn of another writer before each call, which stops the mover after `dieAfter` calls. */
function createSharedDisk(real: Disk, dieAfter: number, turn: () => void): Disk {
  let calls = 0;
  const shared = Object.entries(real).map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      calls += 1;
      if (calls > dieAfter) throw new Died();
      turn();
      return await (call as (...all: unknown[]) => Promise<unknown>)(...args);
    },
  ]);
  return Object.fromEntries(shared) as Disk;
}

function contentsBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'utf8'));
}

async function obey(mover: Mover, { kind, file }: Told): Promise<void> {
  const name = FILES[file] ?? '';
  if (kind === 'park') {
    await mover.park({ op: 'park', file: name, sha256: '', maintenance: 'm', at: 1, bootId: 'b' });
  } else if (kind === 'restore') await mover.restore(name);
}

/** One run; returns what was lost. */
async function play(root: string, orders: readonly Told[], deeds: readonly Foreign[]): Promise<readonly string[]> {
  const paths: MoverPaths = {
    staticPodPath: path.join(root, 'manifests'),
    parkedPath: path.join(root, 'parked'),
    journalPath: path.join(root, 'state', 'journal'),
  };
  mkdirSync(paths.staticPodPath, { recursive: true });
  const writers = new Writers(paths.staticPodPath);
  for (const file of [0, 1]) writers.act({ kind: 'replace', file, gap: 0 });
  const waiting = [...deeds];
  let idle = 0;
  const turn = (): void => {
    idle += 1;
    const [deed] = waiting;
    if (deed === undefined || idle <= deed.gap) return;
    idle = 0;
    waiting.shift();
    writers.act(deed);
  };
  const quick = createQuickDisk();
  for (const order of orders) {
    const mover = new Mover(paths, createSharedDisk(quick, order.dieAfter, turn));
    try {
      await mover.recover();
      await obey(mover, order);
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'FILE_OPERATION_FAILED', String(error));
    }
  }
  writers.finishAll();
  const last = new Mover(paths, quick);
  assert.deepEqual((await last.recover()).failed, []);
  const there = new Set(contentsBelow(root));
  return [...writers.finished].filter((content) => !there.has(content));
}

describe('the mover among writers that do not know of it', () => {
  let root = '';
  before(async () => {
    root = await createQuickFolder('writers');
  });
  after(() => {
    rmSync(root, { recursive: true });
  });

  it(`the mover loses nothing that a writer has finished, in ${RUNS} runs`, async (t) => {
    let runs = 0;
    let parks = 0;
    const lists = fc.tuple(
      fc.array(told, { minLength: 1, maxLength: 6, size: 'max' }),
      fc.array(foreign, { maxLength: 25, size: 'max' }),
    );
    await fc.assert(
      fc.asyncProperty(lists, async ([orders, deeds]) => {
        runs += 1;
        parks += orders.filter(({ kind }) => kind === 'park').length;
        const place = path.join(root, String(runs));
        assert.deepEqual(await play(place, orders, deeds), []);
        rmSync(place, { recursive: true });
      }),
      { numRuns: RUNS },
    );
    t.diagnostic(`${runs} runs, ${parks} parks`);
  });
});
