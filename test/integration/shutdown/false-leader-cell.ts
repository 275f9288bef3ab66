/** A shutdown beside somebody who has the controller's rights, keeps its Lease, and says what is not so. */
import assert from 'node:assert/strict';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
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

/** How long the agent waits for such a leader here. */
const WAIT_SEC = 20;

/** Waits until the agent drains the node itself, and says so, while the Lease is still renewed. */
async function untilDrainedBeside(rig: ShutdownBeside): Promise<void> {
  const stateIs = async (state: string): Promise<boolean> =>
    (await readAgentStatus(rig.files.runDirectory)).controller?.state === state;
  await waitFor('the agent sees the Lease renewed', () => stateIs('alive'), SLOW);
  assert.deepEqual(await rig.lines(), [], 'a controller has some time');
  await waitFor('the agent finds the controller idle', () => stateIs('idle'), SLOW);
  const { metadata } = (await rig.shutdown()) ?? {};
  const says = async (): Promise<boolean> => {
    const message = (await rig.statusOf(metadata?.name ?? ''))?.drainMessage ?? '';
    return message.includes('by the agent of the node: the controller does nothing for the shutdown of this node');
  };
  await waitFor('the maintenance says who drains', says, SLOW);
  const { stdout } = await runNodemaint(['status', '--run-directory', rig.files.runDirectory]);
  assert.match(
    stdout,
    /Controller: .*renews its Lease and does nothing for this shutdown .*this agent drains its own node/,
  );
  const events = ['get', 'events', '-A', '--field-selector', 'reason=ControllerIdle', '-o', 'name'];
  await waitFor('an Event tells of it', async () => (await rig.controlPlane.kubectl(events)) !== '', SLOW);
}

/** The agent drains the node itself after its time, though the Lease is renewed until the machine is let go. */
export const idleLeaderCell: Cell = {
  beside: 'a leader that keeps its Lease and does nothing',
  keys: { progressWaitSec: WAIT_SEC },
  arrange: falseLeaderCell.arrange,
  during: untilDrainedBeside,
  ...(falseLeaderCell.clear === undefined ? {} : { clear: falseLeaderCell.clear }),
};
