import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { pause } from '../../parallel.ts';
import { type Bench, type Case, nodeNames } from '../case.ts';
import { startScaleCluster } from '../cluster.ts';
import { deleteMaintenances, drainWithMaintenances, maintenancesOf, type Shape } from '../drains.ts';
import { startAgent, startController, untilQuiet } from '../program.ts';
import { type Finding, inFigures, type Row } from '../table.ts';

const PODS_PER_NODE = 5;
const FEW = 10;
const OWN = 'uninvolved';

/** Bytes that went through a proxy, in both directions. */
interface Meter extends AsyncDisposable {
  readonly port: number;
  bytes(): number;
}

/** Passes connections on to a port of loopback, and counts what goes through. */
async function startMeter(to: number): Promise<Meter> {
  let bytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ port: to, host: '127.0.0.1' });
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => (bytes += chunk.length));
      from.on('error', () => into.destroy());
      from.on('close', () => sockets.delete(from));
      from.pipe(into);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => bytes,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What the agent took while nodes drained. */
interface Taken {
  readonly bytes: number;
  readonly cpuMs: number;
  readonly seconds: number;
}

async function run({ program, agent: command, signal }: Bench, count: number): Promise<Finding> {
  await using cluster = await startScaleCluster(signal);
  const nodes = nodeNames(count);
  await cluster.makeNodes([...nodes, OWN]);
  await using controller = await startController(program, cluster);
  await using meter = await startMeter(cluster.controlPlane.port);
  await using agent = await startAgent(command, OWN, cluster, meter.port);
  /** Measures the agent during a drain, or during `seconds` where the drain is shorter. */
  const during = async (some: readonly string[], shape: Shape, name: string, seconds = 0): Promise<Taken> => {
    await cluster.addPods(some, PODS_PER_NODE);
    await untilQuiet(controller, signal);
    await untilQuiet(agent, signal);
    const [bytes, cpu, began] = [meter.bytes(), await agent.cpuMs(), performance.now()];
    const made = maintenancesOf(shape, some).map((each) => ({
      ...each,
      metadata: { ...each.metadata, name: `${each.metadata.name}-${name}` },
    }));
    await drainWithMaintenances(cluster, made);
    await pause(Math.max(0, seconds * 1_000 - (performance.now() - began)), signal);
    const taken = { bytes: meter.bytes() - bytes, cpuMs: (await agent.cpuMs()) - cpu };
    const took = (performance.now() - began) / 1_000;
    await deleteMaintenances(cluster);
    await cluster.uncordon(some);
    return { ...taken, seconds: took };
  };
  const one = await during(nodes, 'one', 'a');
  const many = await during(nodes, 'many', 'b');
  const few = nodes.slice(0, FEW);
  const fewOne = await during(few, 'one', 'c', one.seconds);
  const fewMany = await during(few, 'many', 'd', many.seconds);
  const row = (name: string, aim: string, of: (taken: Taken) => number): Row => {
    const ratios = [of(one) / of(fewOne), of(many) / of(fewMany)];
    return {
      name,
      aim,
      values: [fewOne, one, fewMany, many].map((taken) => inFigures(of(taken))).concat(ratios.map(inFigures)),
    };
  };
  return {
    title: `an uninvolved agent while ${count} other nodes drain, and for as long while ${FEW} do`,
    columns: [`one of ${FEW}`, `one of ${count}`, `${FEW} of one`, `${count} of one`, 'ratio (one)', 'ratio (many)'],
    rows: [
      row('bytes from and to the API server, kB', 'ratios ≤ 1.1', ({ bytes }) => bytes / 1_000),
      row('processor of the agent, ms', 'ratios ≤ 1.1', ({ cpuMs }) => cpuMs),
      row('measured for, s', '', ({ seconds }) => seconds),
    ],
    growing: { bytes: one.bytes, 'processor time': one.cpuMs },
    nodes: count,
  };
}

/** What other nodes cost an agent that has nothing to do. */
export const UNINVOLVED_AGENT: Case = {
  what: 'bytes and processor time of an agent while other nodes drain',
  quick: 50,
  full: [100, 300, 1_000],
  run,
};
