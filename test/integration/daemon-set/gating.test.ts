import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { DrainPlanEntry, NodeMaintenance, NodeMaintenanceStatus } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../src/decide/maintenance/drain-plan.ts';
import { labelSelectorMatches } from '../../../src/decide/selector.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createMaintenanceStatusWriter } from '../../../src/kube/maintenance/status.ts';
import { NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { hasMutatingPolicies, withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { daemonSet } from '../../node/pods.ts';
import {
  podOfDaemonSet,
  podsOf,
  sayOfNode,
  SELECTORS,
  setTargets,
  startEndingPods,
} from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, type EvictionRig, NODE, type Running } from '../../support/rigs/eviction.ts';
import { installManifests, runNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { IS_THOROUGH } from '../../support/thorough.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const NEVER = new AbortController().signal;
const GATE = 'nodemaint-daemonset-gate';

describe('the gating of DaemonSet pods, on a real API server with the real DaemonSet controller', () => {
  const skip = withoutMutatingPolicies('no pod is gated');
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    stack.use(startEndingPods(rig.controlPlane));
    await sayOfNode(rig.controlPlane, NODE);
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const kubectl = (args: readonly string[], input?: string): Promise<string> => rig.controlPlane.kubectl(args, input);
  const apply = (object: object): Promise<string> => kubectl(['apply', '-f', '-'], JSON.stringify(object));
  /** A DaemonSet whose pods no scheduler looks at. */
  const unscheduled = (name: string): object => {
    const object = daemonSet(name) as { spec: { template: { spec: object } } };
    const spec = { ...object.spec.template.spec, schedulerName: 'none.example.com' };
    return { ...object, spec: { ...object.spec, template: { ...object.spec.template, spec } } };
  };
  /** Whether a DaemonSet pod that is made now for a node gets the gate. */
  const getsGate = async (labels: Record<string, string>, priority?: string, node = NODE): Promise<boolean> => {
    const text = JSON.stringify(podOfDaemonSet(labels, node, priority));
    return isGated(JSON.parse(await kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], text)) as Pod);
  };
  /** Deletes the gate's policy, and waits until the API server does not apply it any more. No controller may run. */
  const removeGate = async (): Promise<void> => {
    const node = 'node-of-no-kubelet';
    await apply(drainOf('probe', [node]));
    const target = { podType: 'DaemonSet', podPriority: 1_000_000_000 };
    await setTargets(rig.controlPlane, 'probe', node, [target]);
    await waitFor('the policy applies', () => getsGate({ app: 'any' }, undefined, node));
    await kubectl(['delete', 'mutatingadmissionpolicybinding,mutatingadmissionpolicy', GATE]);
    await waitFor('the policy does not apply', async () => !(await getsGate({ app: 'any' }, undefined, node)));
    await kubectl(['delete', 'nm', 'probe']);
  };
  /**
   * Starts a controller, after it has removed the gate if told to. Disposal puts the cluster back as the next case needs
   * it, also after a failure.
   */
  const startCase = async (gate: 'with the gate' | 'without the gate'): Promise<Running & AsyncDisposable> => {
    await using undo = new AsyncDisposableStack();
    undo.defer(async () => {
      if (!hasMutatingPolicies()) return;
      const policies = await kubectl(['get', 'mutatingadmissionpolicybinding', '-o', 'name']);
      if (!policies.includes(GATE)) await installManifests(rig.controlPlane);
    });
    if (gate === 'without the gate' && hasMutatingPolicies()) await removeGate();
    const controller = await rig.startController();
    undo.defer(() => controller.stop());
    undo.defer(async () => {
      await kubectl(['delete', 'daemonsets', '--all', '--timeout=300s']);
    });
    undo.defer(async () => {
      await kubectl(['delete', 'nm', '--all', '--timeout=300s']);
    });
    const owned = undo.move();
    return { stop: () => controller.stop(), [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };
  const isTargetHeld = async (name: string): Promise<boolean> => {
    const pods = await podsOf(rig.controlPlane, name);
    return pods.length === 1 && pods.every(isGated);
  };
  const isRunning = async (name: string): Promise<boolean> => {
    const pods = await podsOf(rig.controlPlane, name);
    return pods.length === 1 && pods.every((pod) => pod.spec.nodeName === NODE && !isGated(pod));
  };

  it('the policy gates a pod exactly where the rules target it, label selectors included', { skip }, async () => {
    await using _case = {
      [Symbol.asyncDispose]: async () => {
        await kubectl(['delete', 'nm', 'policy']);
      },
    };
    await apply(drainOf('policy', [NODE]));
    await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'DaemonSet', podPriority: 1_000_000_000 }]);
    await waitFor('the policy knows it', () => getsGate({ app: 'logger' }));
    assert.equal(await getsGate({ app: 'logger' }, 'system-node-critical'), false, 'another priority');
    assert.equal(await getsGate({ app: 'logger' }, undefined, 'node-y'), false, 'another node');
    await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'Default', podPriority: 1_000_000_000 }]);
    await waitFor('the policy forgets it', async () => !(await getsGate({ app: 'logger' })));
    for (const podSelector of SELECTORS) {
      const target = { podType: 'DaemonSet', podPriority: 5, podSelector };
      // The second target tells when the policy has the first one.
      const probe = `probe-${crypto.randomUUID()}`;
      const marker = { podType: 'DaemonSet', podPriority: 5, podSelector: { matchLabels: { app: probe } } };
      await setTargets(rig.controlPlane, 'policy', NODE, [target, marker]);
      await waitFor('the policy knows it', () => getsGate({ app: probe }));
      const labels = { app: 'logger' };
      const expected = labelSelectorMatches(podSelector, labels);
      assert.equal(await getsGate(labels), expected, JSON.stringify(podSelector));
    }
  });

  it('the policy gates a pod for one of 5,000 nodes with long names, of which the status has no details', {
    skip,
  }, async () => {
    await using _case = {
      [Symbol.asyncDispose]: async () => {
        await kubectl(['delete', 'nm', 'large']);
      },
    };
    await apply(drainOf('large', [NODE]));
    const names = [...Array.from({ length: 4_999 }, (_, at) => `node-${at}-`.padEnd(63, 'x')), NODE];
    const status = (drainTargets: readonly DrainPlanEntry[]): NodeMaintenanceStatus => ({
      nodeStatuses: names.map((name) => ({
        nodeRef: { name, uid: crypto.randomUUID() },
        drainTargets: name === names[0] ? [] : drainTargets,
        drainPlanPosition: 8,
        drainMessage: 'Evacuating',
      })),
    });
    const path = objectPath(NODE_MAINTENANCES, { name: 'large' });
    const get = { method: 'GET', path } as const;
    const write = async (drainTargets: readonly DrainPlanEntry[]): Promise<NodeMaintenanceStatus> => {
      const { client } = rig;
      const known = await sendForObject<NodeMaintenance>(client, get, [], NEVER);
      assert.ok(known !== undefined);
      const writer = createMaintenanceStatusWriter(client, createSystemClock(), 1_000);
      const outcome = await writer.write(known, status(drainTargets), NEVER);
      assert.ok(outcome.kind === 'recorded', 'the API server takes it');
      return outcome.status;
    };
    const written = await write(DEFAULT_DRAIN_PLAN.slice(0, 8));
    const grouped = written.nodeGroups?.flatMap(({ nodes }) => nodes.map(({ name }) => name)) ?? [];
    assert.ok(grouped.includes(NODE), 'the node has no details');
    await waitFor('the policy knows it', () => getsGate({ app: 'logger' }));
    assert.equal(await getsGate({ app: 'logger' }, undefined, 'node-y'), false, 'another node');
    assert.equal(await getsGate({ app: 'logger' }, undefined, names[0] ?? ''), false, 'a node without targets');
    const stored = JSON.stringify(await sendForObject(rig.client, get, [], NEVER)).length;
    assert.ok(stored < 1_000_000, `${stored} bytes`);
    await write(DEFAULT_DRAIN_PLAN.slice(0, 4));
    await waitFor('the policy forgets it', async () => !(await getsGate({ app: 'logger' })));
  });

  it('a pod that was made before the gate is removed and comes back gated; deletion of the maintenance releases it', {
    skip,
  }, async () => {
    await using _case = await startCase('without the gate');
    await apply(unscheduled('slip'));
    await waitFor('its pod is there', async () => (await podsOf(rig.controlPlane, 'slip')).length === 1);
    const uids = new Set<string>();
    await apply(drainOf('slipped', [NODE]));
    await waitFor('it is removed again and again', async () => {
      for (const { metadata } of await podsOf(rig.controlPlane, 'slip')) uids.add(metadata.uid ?? '');
      return uids.size >= 4;
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 3_000);
    });
    for (const { metadata } of await podsOf(rig.controlPlane, 'slip')) uids.add(metadata.uid ?? '');
    assert.ok(uids.size <= 8, `no faster and faster: ${uids.size} pods`);
    await installManifests(rig.controlPlane);
    await waitFor('the next one is held', () => isTargetHeld('slip'));
    await kubectl(['delete', 'nm', 'slipped', '--timeout=300s']);
    await eventually(async () => {
      assert.equal((await podsOf(rig.controlPlane, 'slip')).some(isGated), false, 'when it is gone, nothing is held');
    });
  });

  it('a DaemonSet that no gate holds is removed at growing intervals, and its request says so', { skip }, async () => {
    await using _case = await startCase('without the gate');
    await apply(daemonSet('escape', { graceSec: 1 }));
    await waitFor('it is bound', () => isRunning('escape'));
    await apply(drainOf('chased', [NODE], { reason: 'new firmware' }));
    // It is there while the pod waits for its deletion: 2, 4, 8, then each time 15 s, less what the machine takes.
    const message = /escape has come back [3-9] times in spite of the node maintenance \(new firmware\)/;
    const isTold = async (): Promise<boolean> => message.test(await kubectl(['get', 'evreq', '-o', 'json']));
    await waitFor('the request names it', isTold, { timeoutMs: 90_000 });
    await installManifests(rig.controlPlane);
    await waitFor('it is held', () => isTargetHeld('escape'));
    await kubectl(['delete', 'nm', 'chased', '--timeout=300s']);
    await waitFor('it runs', () => isRunning('escape'));
  });

  const older = { skip: IS_THOROUGH ? false : 'NODEMAINT_TESTS=all' };
  it('a refusal takes the place of the gate before Kubernetes 1.36', older, async () => {
    await using _case = await startCase('without the gate');
    const folder = await mkdtemp(path.join(MANIFESTS, '..', 'overlay-'));
    try {
      const overlay = ['resources: [../manifests]', 'components: [../manifests/policies/before-1.36]'];
      await writeFile(path.join(folder, 'kustomization.yaml'), overlay.join('\n'));
      const text = await kubectl(['kustomize', folder]);
      assert.ok(!text.includes('MutatingAdmissionPolicy') && text.includes(`name: ${GATE}`));
      await kubectl(['apply', '-f', '-'], withoutDeployments(text));
      await apply(daemonSet('refused', { graceSec: 1 }));
      await waitFor('it is bound', () => isRunning('refused'));
      await apply(drainOf('old', [NODE]));
      await kubectl(['wait', '--for=condition=Drained', 'nm/old', '--timeout=300s']);
      await waitFor('it is refused', async () => {
        const events = await kubectl(['get', 'events', '--field-selector=reason=FailedCreate', '-o', 'json']);
        return /NodeMaintenance old keeps pods of this DaemonSet off the node/.test(events);
      });
      assert.deepEqual(await podsOf(rig.controlPlane, 'refused'), []);
      const completedAt = Date.now();
      await kubectl(['delete', 'nm', 'old', '--timeout=300s']);
      await waitFor('it runs', () => isRunning('refused'), { timeoutMs: 60_000 });
      console.log(`with the refusal it came back ${Date.now() - completedAt} ms after the end of the maintenance`);
    } finally {
      await rm(folder, { recursive: true });
      const refusal = 'validatingadmissionpolicybinding,validatingadmissionpolicy';
      await kubectl(['delete', refusal, GATE, '--ignore-not-found']);
    }
  });

  it('nodemaint uninstall-cluster leaves no pod gated, with a controller and without one', { skip }, async () => {
    const uninstall = async (...flags: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
      await runNodemaint(['uninstall-cluster', '--yes', '--kubeconfig', rig.controlPlane.adminKubeconfig, ...flags]);
    const hold = async (name: string): Promise<void> => {
      await waitFor('it is bound', () => isRunning('last'));
      await apply(drainOf(name, [NODE]));
      await waitFor('it is held', () => isTargetHeld('last'));
    };
    await apply(daemonSet('last', { graceSec: 1 }));
    const controller = await rig.startController();
    await hold('first');
    const first = await uninstall();
    assert.equal(first.code, 0, first.stderr);
    await eventually(async () => {
      assert.equal(await kubectl(['get', 'nm', '-o', 'name']), '');
    });
    await waitFor('it is bound', () => isRunning('last'));
    await installManifests(rig.controlPlane);
    await hold('second');
    await controller.stop();
    const second = await uninstall('--timeout', '2s');
    assert.equal(second.code, 3);
    assert.match(second.stderr, /these maintenances are left: second/);
    // Whoever deletes the manifests first gets no further than this, and can still mend it.
    await kubectl(['delete', '-k', MANIFESTS, '--ignore-not-found', '--wait=false']);
    const third = await uninstall('--timeout', '1s', '--force');
    assert.equal(third.code, 0, third.stderr);
    await kubectl(['delete', '-k', MANIFESTS, '--ignore-not-found', '--timeout=300s']);
    await waitFor('it runs', () => isRunning('last'));
    await eventually(async () => {
      assert.equal(await kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']), '');
    });
    const crds = await kubectl(['get', 'crd', '-o', 'name']);
    assert.equal(crds, '');
  });
});
