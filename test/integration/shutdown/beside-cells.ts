/** Everything that could hold the shutdown of a node, or let its pods end early. */
import assert from 'node:assert/strict';
import { FORCE_ANNOTATION } from '../../../src/api/names.ts';
import type { Program } from '../../control-plane/process.ts';
import { NODE, OTHER, type ShutdownBeside } from '../../support/rigs/shutdown-beside.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** What a pod says that ends by itself. */
export const whole = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [`${name} TERM`, `${name} END`]);

/** A situation, and what the pods of the node say when it is shut down in it. */
export interface Cell {
  readonly beside: string;
  /** More of the agent's configuration. */
  readonly keys?: object;
  /** Options of the controller; undefined where none runs from the beginning. */
  readonly controller?: readonly string[];
  /** Brings the situation about; the agent runs. */
  readonly arrange: (rig: ShutdownBeside, controller: Program | undefined) => Promise<void>;
  /** Happens while the machine goes down. */
  readonly during?: (rig: ShutdownBeside) => Promise<void>;
  /** Takes back what `reset` does not. */
  readonly clear?: (rig: ShutdownBeside) => Promise<void>;
}

/** The drain of both nodes has begun, and the other one is held by its budget. */
async function drainBoth(rig: ShutdownBeside): Promise<void> {
  await rig.drain('both', [NODE, OTHER]);
  await rig.seen('web END');
  await waitFor(
    'the budget holds the other node',
    async () => {
      return (await rig.statusOf('both', OTHER))?.podsBlocking?.[0]?.reason === 'PodDisruptionBudget';
    },
    SLOW,
  );
  assert.deepEqual(await rig.lines(), whole(['web']));
}

/** Whether the shutdown's drain of the node says so. */
async function untilShutdownSays(rig: ShutdownBeside, message: RegExp): Promise<void> {
  await waitFor(
    `the shutdown says ${String(message)}`,
    async () => {
      const { metadata } = (await rig.shutdown()) ?? {};
      return message.test((await rig.statusOf(metadata?.name ?? ''))?.drainMessage ?? '');
    },
    SLOW,
  );
}

async function label(rig: ShutdownBeside, suffix: string): Promise<void> {
  for (const node of [NODE, OTHER]) {
    await rig.controlPlane.kubectl(['label', 'node', node, `node-role.kubernetes.io/control-plane${suffix}`]);
  }
}

/** A throttled drain of the node, beside one of the other node that has begun. */
async function drainThrottled(rig: ShutdownBeside, why: RegExp): Promise<void> {
  await rig.drain('other', [OTHER], {}, { [FORCE_ANNOTATION]: 'true' });
  await waitFor(
    'the other node drains',
    async () => (await rig.statusOf('other', OTHER))?.drainPlanPosition === 1,
    SLOW,
  );
  await rig.drain('throttled', [NODE]);
  await waitFor(
    'the drain of the node waits',
    async () => {
      return why.test((await rig.statusOf('throttled'))?.drainMessage ?? '');
    },
    SLOW,
  );
}

/** Situations; the simulation has more. */
export const cells: readonly Cell[] = [
  { beside: 'a maintenance of several nodes that the budget of another one holds', controller: [], arrange: drainBoth },
  {
    beside: 'the guard of the control plane',
    controller: [],
    arrange: async (rig) => {
      await label(rig, '=');
      await drainThrottled(rig, /^Throttled: /);
    },
    // The other member is away, so that no time ends the wait; a person may.
    during: async (rig) => {
      await untilShutdownSays(rig, /control plane/);
      assert.deepEqual(await rig.lines(), []);
      const name = (await rig.shutdown())?.metadata.name ?? '';
      await rig.controlPlane.kubectl(['annotate', 'nodemaintenance', name, `${FORCE_ANNOTATION}=true`]);
    },
    clear: (rig) => label(rig, '-'),
  },
];
