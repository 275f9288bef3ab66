/** A shutdown beside somebody who has the controller's rights, keeps its Lease, and says what is not so. */
import assert from 'node:assert/strict';
import { readAgentStatus } from '../../support/commands/nodemaint.ts';
import { NODE, type ShutdownBeside } from '../../support/rigs/shutdown-beside.ts';
import { type FalseLeader, startFalseLeader } from '../../support/stand-ins/false-leader.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import type { Cell } from './beside-cells.ts';

/** Waits until the agent waits for its pods although the cluster says that they have left; none was told to end. */
async function untilNotBelieved(rig: ShutdownBeside): Promise<void> {
  await waitFor('the shutdown has its maintenance', async () => (await rig.shutdown()) !== undefined, SLOW);
  await thief?.sayDrained((await rig.shutdown())?.metadata.name ?? '', NODE);
  const named = async (): Promise<boolean> => {
    const { waitingFor } = await readAgentStatus(rig.files.runDirectory);
    const names = waitingFor.flatMap(({ what, on }) => (on === 'container runtime' ? [what] : []));
    return ['default/dns', 'default/web'].every((name) => names.includes(name));
  };
  await waitFor('the agent names the pods that still run', named, SLOW);
  assert.deepEqual(await rig.lines(), []);
  // Its Lease expires, and the agent drains the node itself.
  await thief?.[Symbol.asyncDispose]();
}
let thief: FalseLeader | undefined;

/** The agent waits for its pods, and drains the node itself when the Lease has expired. */
export const falseLeaderCell: Cell = {
  beside: 'a leader that only says that the node is drained, until its Lease expires',
  arrange: async ({ controlPlane }) => {
    thief = await startFalseLeader(controlPlane);
  },
  during: untilNotBelieved,
  clear: async () => {
    await thief?.[Symbol.asyncDispose]();
  },
};
