/** One case on machines: what is done to them, all that happens meanwhile, and the judgement. */
import assert from 'node:assert/strict';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Write } from '../../chaos/audit.ts';
import type { Change } from '../../chaos/timeline.ts';
import { endingsOf, servingOf } from './history.ts';
import type { Machines } from './machines.ts';
import { type Mark, timeLineOf } from './time-line.ts';
import { BUDGETS, ORDER } from './workload.ts';

/** A story of machines that is being told. */
export interface Story {
  readonly begunAt: number;
  /** Notes what the test did or saw. */
  mark(what: string): void;
  /** Ends it, and prints its time line. */
  end(): Promise<Told>;
}

/** A story that has ended. */
export interface Told {
  readonly begunAt: number;
  readonly changes: readonly Change[];
  readonly writes: readonly Write[];
  readonly lines: readonly string[];
}

/** Begins to note everything. */
export function beginStory(title: string, { timeline, writes }: Machines): Story {
  const all = timeline.record(() => true);
  const marks: Mark[] = [];
  const begunAt = Date.now();
  // The record has only changes: what is there already is its beginning.
  const before = (['Pod', 'Node', 'NodeMaintenance'] as const).flatMap((kind) =>
    timeline
      .list(kind)
      .map(
        (object): Change => ({
          revision: 0,
          at: begunAt - 1,
          kind,
          key:
            object.metadata.namespace === undefined
              ? object.metadata.name
              : `${object.metadata.namespace}/${object.metadata.name}`,
          object,
          deleted: false,
        }),
      ),
  );
  return {
    begunAt,
    mark: (what) => marks.push({ at: Date.now(), what }),
    end: async () => {
      all.end();
      const changes = [...before, ...all.changes];
      const written = await writes.read();
      const lines = timeLineOf(changes, written, marks, begunAt);
      console.log(`--- ${title}\n${lines.join('\n')}`);
      return { begunAt, changes, writes: written, lines };
    },
  };
}

/** The place of a pod in the order in which pods leave a machine. */
function placeOf(name: string): number {
  return ORDER.findIndex(([, names]) => names.includes(name));
}

/** Checks what the pods of a machine have told: each ends by itself, and all of one kind before any of the next. */
export function assertInOrder(machine: string, witnessed: readonly string[]): void {
  const ends = witnessed
    .filter((line) => / (?:TERM|END)$/.test(line))
    .map((line) => line.split(' ') as [string, string]);
  for (const name of new Set(ends.map(([each]) => each))) {
    const count = (what: string): number => ends.filter(([each, is]) => each === name && is === what).length;
    assert.equal(count('END'), count('TERM'), `${machine}: each ${name} that was told to end came to its end`);
  }
  const places = ends.map(([name]) => placeOf(name));
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    `${machine}: ${witnessed.join(', ')}`,
  );
}

/** Checks that no pod was told to end with less than its own grace period, or was killed. */
export function assertNothingForced({ changes, writes, begunAt }: Told): void {
  for (const ending of endingsOf(changes, writes)) {
    const { pod, node, toldAt, graceSec, ownGraceSec, hadEnded, hadServed, exitCodes, by } = ending;
    if (toldAt < begunAt) continue;
    const what = `${pod} on ${node}, told by ${by}`;
    // The kubelet takes away mirror pods, and pods that have ended, at once.
    if (graceSec !== undefined && !hadEnded && !by.startsWith('kubelet'))
      assert.equal(graceSec, ownGraceSec, `${what}, has its own grace period`);
    if (hadServed) assert.ok(!exitCodes.includes(137), `${what}, was not killed`);
  }
}

/** When an application with a budget had too few pods, in milliseconds since the story began. */
export function tooFew({ changes, begunAt }: Told): readonly string[] {
  return Object.entries(BUDGETS).flatMap(([app, least]) =>
    servingOf(app, changes)
      .filter(({ ready, at }) => at >= begunAt && ready < least)
      .map(({ at, ready }) => `${app}: ${ready} from ${((at - begunAt) / 1000).toFixed(1)} s on`),
  );
}

/** Checks that a maintenance says that budgets were not asked, and that the report of its machine says it after its boot. */
export async function assertSaidNotAsked(machines: Machines, { begunAt, changes }: Told): Promise<void> {
  const nodes = changes
    .filter(({ at }) => at >= begunAt)
    .flatMap(({ object }) => (object as NodeMaintenance).status?.nodeStatuses ?? [])
    .flatMap(({ budgetsNotAsked, nodeRef }) => (budgetsNotAsked === true ? nodeRef.name : []));
  const [node] = nodes;
  assert.ok(node !== undefined, 'a maintenance says for a machine that budgets were not asked');
  const machine = machines.machine(node);
  await machine.boot();
  const report = await machine.system().must('nodemaint report');
  console.log(report);
  assert.match(report, /not asked/);
}
