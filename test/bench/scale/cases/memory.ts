import { residentParts, type ResidentParts } from '../../process-figures.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { startScaleCluster } from '../cluster.ts';
import { type ProbedProgram, startAgent, startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 10;

/** What a program holds of a cluster of some size. */
interface Held extends ResidentParts {
  readonly liveHeapMiB: number;
}

async function holds(probed: ProbedProgram, signal: AbortSignal): Promise<Held> {
  await untilQuiet(probed, signal);
  const parts = await residentParts(probed.program.pid);
  return { ...parts, liveHeapMiB: (await probed.measure()).liveHeapMiB };
}

async function run({ program, agent: command, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  const [own = ''] = nodes;
  await using controller = await startController(program, cluster);
  await cluster.makeNodes([own]);
  await using agent = await startAgent(command, own, cluster);
  const both = [controller, agent];
  const stages: Held[][] = [];
  const measure = async (): Promise<void> => {
    stages.push([await holds(controller, signal), await holds(agent, signal)]);
  };
  await measure();
  await cluster.makeNodes(nodes.slice(1));
  await measure();
  await cluster.addPods(nodes, { perNode: PODS_PER_NODE });
  await measure();
  const row = (name: string, of: (held: Held) => number): Row => {
    const values = both.flatMap((_, index) => stages.map((stage) => inFigures(of(stage[index] as Held))));
    return { name, values };
  };
  const titles = [`${count} nodes`, `${count * PODS_PER_NODE} pods`];
  return {
    title: `controller and agent at rest in a cluster of ${count} nodes with ${PODS_PER_NODE} pods each`,
    columns: ['controller', 'agent'].flatMap((name) => [`${name}: 1 node`, ...titles]),
    rows: [
      row('resident memory, MiB', ({ anonymous, files }) => anonymous + files),
      row('  of its own: heap, buffers, stacks', ({ anonymous }) => anonymous),
      row('  of files: Node.js, libraries, the program', ({ files }) => files),
      row('live heap after a collection, MiB', ({ liveHeapMiB }) => liveHeapMiB),
    ],
    growing: { 'resident memory of the controller': (stages.at(-1)?.[0]?.anonymous ?? 0) * 1_000 },
    nodes: count,
  };
}

/** What a large cluster takes of the memory of both programs while nothing happens. */
export const MEMORY: Case = {
  what: 'resident memory of the controller and of an agent in a cluster with ten pods on each node, by part',
  quick: 100,
  full: [100, 1_000],
  run,
};
