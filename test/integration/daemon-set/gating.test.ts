import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { LabelSelector } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import { labelSelectorMatches } from '../../../src/decide/selector.ts';
import { daemonSet } from '../../node/pods.ts';
import {
  maintenanceOf,
  podOfDaemonSet,
  podsOf,
  sayOfNode,
  setTargets,
  startEndingPods,
} from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { installManifests, runNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const GATE = 'nodemaint-daemonset-gate';

const SELECTORS: readonly LabelSelector[] = [
  {},
  { matchLabels: {} },
  { matchLabels: { app: 'logger' } },
  { matchLabels: { app: 'logger', tier: 'none' } },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['other', 'logger'] }] },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['other'] }] },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['logger'] }] },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['logger'] }] },
  { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
  { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
  { matchLabels: { app: 'logger' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
];

describe('what holds DaemonSet pods, on a real API server with the real DaemonSet controller', () => {
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
  /** Takes the gate out of use; API servers look at their policies once a second. */
  const removeGate = async (): Promise<void> => {
    await kubectl(['delete', 'mutatingadmissionpolicybinding,mutatingadmissionpolicy', GATE]);
    await new Promise((resolve) => {
      setTimeout(resolve, 3_000);
    });
  };
  const isTargetHeld = async (name: string): Promise<boolean> => {
    const pods = await podsOf(rig.controlPlane, name);
    return pods.length === 1 && pods.every(isGated);
  };
  const isRunning = async (name: string): Promise<boolean> => {
    const pods = await podsOf(rig.controlPlane, name);
    return pods.length === 1 && pods.every((pod) => pod.spec.nodeName === NODE && !isGated(pod));
  };

  it('The policy holds a pod just where the rules target it, label selectors included.', async () => {
    await apply(maintenanceOf('policy', NODE));
    const hold = async (labels: Record<string, string>, priority?: string, node = NODE): Promise<boolean> => {
      const text = JSON.stringify(podOfDaemonSet(labels, node, priority));
      return isGated(JSON.parse(await kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], text)) as Pod);
    };
    await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'DaemonSet', podPriority: 1_000_000_000 }]);
    await waitFor('the policy knows it', () => hold({ app: 'logger' }));
    assert.equal(await hold({ app: 'logger' }, 'system-node-critical'), false, 'another priority');
    assert.equal(await hold({ app: 'logger' }, undefined, 'node-y'), false, 'another node');
    await setTargets(rig.controlPlane, 'policy', NODE, [{ podType: 'Default', podPriority: 1_000_000_000 }]);
    await waitFor('the policy forgets it', async () => !(await hold({ app: 'logger' })));
    for (const podSelector of SELECTORS) {
      const target = { podType: 'DaemonSet', podPriority: 5, podSelector };
      // The second target tells when the policy has the first one.
      const probe = `probe-${crypto.randomUUID()}`;
      const marker = { podType: 'DaemonSet', podPriority: 5, podSelector: { matchLabels: { app: probe } } };
      await setTargets(rig.controlPlane, 'policy', NODE, [target, marker]);
      await waitFor('the policy knows it', () => hold({ app: probe }));
      const labels = { app: 'logger' };
      const expected = labelSelectorMatches(podSelector, labels);
      assert.equal(await hold(labels), expected, JSON.stringify(podSelector));
    }
    await kubectl(['delete', 'nm', 'policy']);
  });

  it('A pod that slipped through before it was bound is removed and comes back held; deletion of the maintenance releases it.', async () => {
    const controller = await rig.startController();
    await apply(unscheduled('slip'));
    await removeGate();
    await waitFor('its pod is there', async () => (await podsOf(rig.controlPlane, 'slip')).length === 1);
    const uids = new Set<string>();
    await apply(maintenanceOf('slipped', NODE));
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
    await kubectl(['delete', 'nm', 'slipped', '--timeout=10s']);
    assert.equal((await podsOf(rig.controlPlane, 'slip')).some(isGated), false, 'when it is gone, nothing is held');
    await kubectl(['delete', 'ds', 'slip']);
    await controller.stop();
  });

  it('A DaemonSet that no gate holds is removed ever later, and its request says so.', async () => {
    const controller = await rig.startController();
    await removeGate();
    await apply(daemonSet('escape', { graceSec: 1 }));
    await waitFor('it is bound', () => isRunning('escape'));
    await apply(maintenanceOf('chased', NODE));
    await waitFor('the request names it', async () => {
      const text = await kubectl(['get', 'evreq', '-o', 'json']);
      return /escape has come back [3-9] times in spite of the node maintenance \(new firmware\)/.test(text);
    });
    await installManifests(rig.controlPlane);
    await waitFor('it is held', () => isTargetHeld('escape'));
    await kubectl(['delete', 'nm', 'chased', '--timeout=10s']);
    await waitFor('it runs', () => isRunning('escape'));
    await kubectl(['delete', 'ds', 'escape']);
    await controller.stop();
  });

  it('Before 1.36 the refusal takes the place of the gate.', async () => {
    const controller = await rig.startController();
    const folder = await mkdtemp(path.join(MANIFESTS, '..', 'overlay-'));
    try {
      const overlay = ['resources: [../manifests]', 'components: [../manifests/policies/before-1.36]'];
      await writeFile(path.join(folder, 'kustomization.yaml'), overlay.join('\n'));
      const text = await kubectl(['kustomize', folder]);
      assert.ok(!text.includes('MutatingAdmissionPolicy') && text.includes(`name: ${GATE}`));
      await removeGate();
      await kubectl(['apply', '-f', '-'], withoutDeployments(text));
      await apply(daemonSet('refused', { graceSec: 1 }));
      await waitFor('it is bound', () => isRunning('refused'));
      await apply(maintenanceOf('old', NODE));
      await kubectl(['wait', '--for=condition=Drained', 'nm/old', '--timeout=60s']);
      await waitFor('it is refused', async () => {
        const events = await kubectl(['get', 'events', '--field-selector=reason=FailedCreate', '-o', 'json']);
        return /NodeMaintenance old keeps pods of this DaemonSet off the node/.test(events);
      });
      assert.deepEqual(await podsOf(rig.controlPlane, 'refused'), []);
      const completedAt = Date.now();
      await kubectl(['delete', 'nm', 'old', '--timeout=10s']);
      await waitFor('it runs', () => isRunning('refused'), { timeoutMs: 60_000 });
      console.log(`with the refusal it came back ${Date.now() - completedAt} ms after the end of the maintenance`);
      await kubectl(['delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', GATE]);
      await kubectl(['delete', 'ds', 'refused']);
    } finally {
      await rm(folder, { recursive: true });
      await controller.stop();
      await installManifests(rig.controlPlane);
    }
  });

  it('nodemaint uninstall-cluster leaves nothing held, with a controller and without one.', async () => {
    const uninstall = async (...flags: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
      await runNodemaint(['uninstall-cluster', '--kubeconfig', rig.controlPlane.adminKubeconfig, ...flags]);
    const hold = async (name: string): Promise<void> => {
      await waitFor('it is bound', () => isRunning('last'));
      await apply(maintenanceOf(name, NODE));
      await waitFor('it is held', () => isTargetHeld('last'));
    };
    await apply(daemonSet('last', { graceSec: 1 }));
    const controller = await rig.startController();
    await hold('first');
    const first = await uninstall();
    assert.equal(first.code, 0, first.stderr);
    assert.equal(await kubectl(['get', 'nm', '-o', 'name']), '');
    await waitFor('it is bound', () => isRunning('last'), { timeoutMs: 5_000 });
    await installManifests(rig.controlPlane);
    await hold('second');
    await controller.stop();
    const second = await uninstall('--timeout', '2s');
    assert.equal(second.code, 3);
    assert.match(second.stderr, /these maintenances are still there: second/);
    // Whoever deletes the manifests first gets no further than this, and can still mend it.
    await kubectl(['delete', '-k', MANIFESTS, '--ignore-not-found', '--wait=false']);
    const third = await uninstall('--timeout', '1s', '--force');
    assert.equal(third.code, 0, third.stderr);
    await kubectl(['delete', '-k', MANIFESTS, '--ignore-not-found', '--timeout=60s']);
    await waitFor('it runs', () => isRunning('last'));
    assert.equal(await kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']), '');
    const crds = await kubectl(['get', 'crd', '-o', 'name']);
    assert.equal(crds, '');
  });
});
