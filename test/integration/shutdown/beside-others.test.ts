/** A node's shutdown beside everything that could hold it: it drains in order, and the machine is let go. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ORDER, type ShutdownBeside, startShutdownBeside } from '../../support/rigs/shutdown-beside.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Cell, cells, whole } from './beside-cells.ts';
import { falseLeaderCell, idleLeaderCell } from './false-leader-cell.ts';

/** A leader without a watch gives its Lease back after a minute, and an agent waits for its end. */
const LONG = { timeoutMs: 240_000 };

describe('the shutdown of a node beside', () => {
  let rig: ShutdownBeside;
  const table: string[] = [];
  before(async () => {
    rig = await startShutdownBeside(AbortSignal.timeout(300_000));
  });
  after(async () => {
    console.log(['beside | let go after | what the pods said', ...table].join('\n'));
    await rig[Symbol.asyncDispose]();
  });

  /** Shuts the node down, and returns after how many seconds it is let go. */
  async function shutDown({ keys, controller, arrange, during }: Cell): Promise<number> {
    await rig.startPod('web');
    await rig.startPod('dns', { priorityClassName: 'system-cluster-critical' });
    const leader = controller === undefined ? undefined : await rig.startController(...controller);
    const agent = await rig.startAgent(keys);
    await arrange(rig, leader);
    const begunAt = performance.now();
    await rig.trigger('--reason', 'kernel update');
    await during?.(rig);
    const isOut = async (): Promise<boolean> => (await rig.phase()).kind === 'released';
    await waitFor('the machine is let go', isOut, { ...LONG, program: agent });
    const phase = await rig.phase();
    assert.equal(phase.kind === 'released' && phase.forced, undefined);
    return (performance.now() - begunAt) / 1000;
  }

  for (const cell of [...cells, falseLeaderCell, idleLeaderCell]) {
    it(`${cell.beside}: it drains in order, and the machine is let go`, async () => {
      try {
        const seconds = await shutDown(cell);
        const lines = await rig.lines();
        table.push(`${cell.beside} | ${seconds.toFixed(1)} s | ${lines.join(', ')}`);
        assert.deepEqual(lines, whole(ORDER));
      } finally {
        await cell.clear?.(rig);
        await rig.reset();
      }
    });
  }
});
