import { type Bench, type Case } from '../case.ts';
import { startScaleCluster } from '../cluster.ts';
import { deleteMaintenances, drainWithMaintenances, maintenancesOf } from '../drains.ts';
import { type ProbedProgram, type Second, startAgent, startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 3;
const NODE = 'busy';
/** The part of the drains after which the first measurement comes: caches are filled by then. */
const WARM_UP = 0.2;

/** What a program holds at one moment. */
interface Held {
  readonly heapMiB: number;
  readonly residentMiB: number;
  readonly timers: number;
  readonly descriptors: number;
}

async function holds(probed: ProbedProgram, signal: AbortSignal): Promise<Held> {
  await untilQuiet(probed, signal);
  const last = (await probed.seconds()).at(-1) as Second;
  const { liveHeapMiB, residentMiB } = await probed.measure();
  return { heapMiB: liveHeapMiB, residentMiB, timers: last.timers, descriptors: last.descriptors };
}

async function run({ program, agent: command, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  await cluster.makeNodes([NODE]);
  await using controller = await startController(program, cluster);
  await using agent = await startAgent(command, NODE, cluster);
  const both = [controller, agent];
  // The inspector opens descriptors that stay open: they are there before the first counting.
  for (const each of both) await each.measure();
  const held: Held[][] = [];
  const warm = Math.max(2, Math.ceil(count * WARM_UP));
  for (let index = 0; index < count; index += 1) {
    await cluster.addPods([NODE], { perNode: PODS_PER_NODE });
    await drainWithMaintenances(cluster, maintenancesOf('one', [NODE]));
    await deleteMaintenances(cluster);
    if (index + 1 === warm || index + 1 === count)
      held.push(await Promise.all(both.map((each) => holds(each, signal))));
  }
  const [first, last] = held;
  const row = (name: string, of: keyof Held): Row => {
    const values = both.flatMap((_, index) => {
      const [before, after] = [first?.[index]?.[of] ?? Number.NaN, last?.[index]?.[of] ?? Number.NaN];
      return [inFigures(before), inFigures(after), inFigures(((after - before) * 1_000) / (count - warm))];
    });
    return { name, values };
  };
  return {
    title: `${count} drains of one node one after another; the first figures are those after ${warm}`,
    columns: ['controller: first', 'last', 'per 1000 drains', 'agent: first', 'last', 'per 1000 drains'],
    rows: [
      row('live heap, MiB', 'heapMiB'),
      row('resident memory, MiB', 'residentMiB'),
      row('timers', 'timers'),
      row('descriptors', 'descriptors'),
    ],
    growing: {},
    nodes: count,
  };
}

/** Whether anything is left over after a drain. */
export const ONE_AFTER_ANOTHER: Case = {
  what: 'drains one after another: memory, timers and descriptors of the controller and of an agent',
  quick: 15,
  full: [1_000],
  run,
};
