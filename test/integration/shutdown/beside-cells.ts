/** Everything that could hold the shutdown of a node, or let its pods end early. */
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { FORCE_ANNOTATION } from '../../../src/api/names.ts';
import type { Program } from '../../control-plane/process.ts';
import { NODE, ORDER, OTHER, type ShutdownBeside } from '../../support/rigs/shutdown-beside.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** What a pod says that ends by itself. */
export const whole = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [`${name} TERM`, `${name} END`]);
const FIRST = -10;

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
  /** What the pods say. */
  readonly lines?: readonly string[];
  /** What the agent says of pods that it lets the machine go with. */
  readonly left?: RegExp;
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

/** An older drain of the node alone, whose first tier is one pod that does not end. */
async function drainSlowFirst(rig: ShutdownBeside): Promise<void> {
  await rig.apply({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'leaves-first' },
    value: FIRST,
  });
  await rig.startPod('slow', { priorityClassName: 'leaves-first', graceSec: 600, stopsAt: 'slow-may-end' });
  await rig.drain('alone', [NODE], { drainPlan: [{ podType: 'Default', podPriority: FIRST }] });
  await rig.seen('slow TERM');
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

const NO_CORDON = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'no-cordon' } };
const UNCHANGED = 'object.spec.?unschedulable.orValue(false) == oldObject.spec.?unschedulable.orValue(false)';

/** Keeps everybody from cordoning a node, as policies of others may. */
async function forbidCordon(rig: ShutdownBeside): Promise<void> {
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }];
  await rig.apply(
    {
      ...NO_CORDON,
      kind: 'ValidatingAdmissionPolicy',
      spec: { matchConstraints: { resourceRules }, validations: [{ expression: UNCHANGED }] },
    },
    {
      ...NO_CORDON,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: 'no-cordon', validationActions: ['Deny'] },
    },
  );
  // "kubectl cordon" ends with 0 where it is refused.
  const cordon = ['patch', 'node', OTHER, '--dry-run=server', '-p', JSON.stringify({ spec: { unschedulable: true } })];
  await waitFor('nobody may cordon a node', async () => {
    return await rig.controlPlane.kubectl(cordon).then(
      () => false,
      (error: unknown) => String(error).includes('no-cordon'),
    );
  });
}

/** Situations that the simulation has, too; the thorough run has them on real parts. */
export const moreCells: readonly Cell[] = [
  {
    beside: 'an older maintenance of the node alone whose first tier does not end',
    controller: [],
    arrange: drainSlowFirst,
    during: async (rig) => {
      await untilShutdownSays(rig, /^Evacuating/);
      assert.deepEqual(await rig.lines(), ['slow TERM']);
      await writeFile(path.join(rig.witness, 'slow-may-end'), '');
    },
    lines: whole(['slow', ...ORDER]),
  },
  {
    beside: 'a refused static pod directory that a drain has reached before',
    arrange: async (rig) => {
      await chmod(rig.node.staticPodPath, 0o777);
      const first = await rig.startController();
      await rig.drain('alone', [NODE]);
      await waitFor(
        'the drain has reached the static pods',
        async () => {
          return (await rig.statusOf('alone'))?.drainTargets?.some(({ podType }) => podType === 'Static') === true;
        },
        SLOW,
      );
      await first.stop();
      await rig.startPod('late', { stopsAt: 'late-may-end', graceSec: 600 }, NODE);
      await rig.startController();
      await rig.seen('late TERM');
    },
    during: async (rig) => {
      await untilShutdownSays(rig, /^Evacuating/);
      await waitFor('the agent drains', async () => (await rig.phase()).kind === 'draining', SLOW);
      await writeFile(path.join(rig.witness, 'late-may-end'), '');
    },
    lines: whole(['web', 'dns', 'logger', 'late']),
    left: /no manifest of a static pod may be moved, because .*: kube-system\/high-.*, kube-system\/low-/,
    clear: (rig) => chmod(rig.node.staticPodPath, 0o755),
  },
  {
    beside: 'a maintenance of several nodes that no controller moves on',
    controller: [],
    arrange: async (rig, controller) => {
      await drainBoth(rig);
      controller?.kill('SIGKILL');
    },
  },
  {
    beside: 'a node that may not be patched',
    controller: [],
    arrange: forbidCordon,
    clear: async ({ controlPlane }) => {
      const kinds = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
      await controlPlane.kubectl(['delete', kinds, 'no-cordon']);
    },
  },
];

/** Situations of every run. */
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
