import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { resolveDrain } from '../../../../src/decide/drain/resolution.ts';
import {
  decideVolumes,
  NO_VOLUMES,
  recordedWait,
  volumesOn,
  volumesStatus,
} from '../../../../src/decide/volume/wait.ts';
import { effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { drainPodOf } from '../../../../src/decide/pod.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const NAMES = ['kubernetes.io/csi/d^v'];

/** A DaemonSet pod that mounts these folders of the host. */
function podOf(name: string, priority: number, ...paths: readonly string[]): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: name, controller: true };
  return {
    metadata: { name, namespace: 'kube-system', uid: name, ownerReferences: [owner] },
    spec: { nodeName: 'n', priority, volumes: paths.map((path) => ({ hostPath: { path } })) },
  };
}

const CRITICAL = 2_000_001_000;
const NETWORK = podOf('network', CRITICAL, '/etc/cni/net.d', '/opt/cni/bin');
const DRIVER = podOf('driver', 0, '/var/lib/kubelet/plugins_registry');
const LOGS = podOf('logs', CRITICAL);

describe('the DaemonSet pods that others need', () => {
  /** The names of the pods that leave together, one group after the other; `due` is how many entries a deadline has reached. */
  function groups(due: number): readonly string[] {
    const told: string[] = [];
    let pods: readonly Pod[] = [NETWORK, DRIVER, LOGS];
    let targets: Parameters<typeof resolveDrain>[2] = [];
    for (let step = 0; step < 20 && pods.length > 0; step += 1) {
      const drainPods = pods.map(drainPodOf);
      const { evicting, staying, drainTargets } = resolveDrain(effectiveDrainPlan([]), drainPods, targets, due);
      targets = drainTargets;
      const leaving = evicting.filter(({ uid }) => !staying.has(uid)).map(({ name }) => name);
      if (leaving.length > 0) told.push(leaving.toSorted().join());
      pods = pods.filter(({ metadata }) => !leaving.includes(metadata.name));
    }
    return told;
  }

  it('the pods leave before the driver, whatever its priority is, and the driver before the network', () => {
    assert.deepEqual(groups(0), ['logs', 'driver', 'network']);
  });

  it('a deadline that has come for all of them ends that order', () => {
    assert.deepEqual(groups(effectiveDrainPlan([]).length), ['driver,logs,network']);
  });
});

describe('the volumes of a node that is drained', () => {
  const decide = (facts: Partial<Parameters<typeof decideVolumes>[1]>, keep: readonly 'DaemonSet'[] = []) => {
    const known = (): undefined => undefined;
    const all = { pods: [], names: NAMES, known, maxWaitMs: 7 * MINUTE, deadlineAt: undefined, ...facts };
    return decideVolumes(drainOf('m', ['n'], keep.length === 0 ? {} : { keepPods: keep }), all, NOW);
  };

  it('volumes are those that the node says are mounted or attached, each once', () => {
    const status = { volumesInUse: ['a'], volumesAttached: [{ name: 'a' }, { name: 'b' }] };
    assert.deepEqual(volumesOn({ status }), ['a', 'b']);
    assert.deepEqual(volumesOn(undefined), []);
  });

  it('volumes are waited for once only pods are left that do not use them', () => {
    assert.deepEqual(decide({ pods: [LOGS, DRIVER] }), NO_VOLUMES);
    const wait = { names: NAMES, since: NOW, isGivenUp: false, until: NOW + 7 * MINUTE };
    assert.deepEqual(decide({ pods: [DRIVER, NETWORK] }), wait);
  });

  it('the wait has an end, by its time or by a deadline, and a time of 0 is none', () => {
    const givenUp = decide({ known: () => NOW - 7 * MINUTE });
    assert.deepEqual([givenUp.isGivenUp, givenUp.until], [true, undefined]);
    assert.equal(decide({ deadlineAt: NOW + MINUTE }).until, NOW + MINUTE);
    for (const over of [{ deadlineAt: NOW }, { maxWaitMs: 0 }, { names: [] }])
      assert.deepEqual(decide(over), NO_VOLUMES);
  });

  it('a kept pod that may have a volume ends the wait, for its volume cannot be told from others', () => {
    const claim = { ...LOGS, spec: { ...LOGS.spec, volumes: [{ persistentVolumeClaim: {} }] } };
    assert.deepEqual(decide({ pods: [claim] }, ['DaemonSet']), NO_VOLUMES);
    assert.deepEqual(decide({ pods: [LOGS] }, ['DaemonSet']).names, NAMES);
  });

  it('the status has the first names, and since when, which the next controller goes by', () => {
    const names = Array.from({ length: 30 }, (_, index) => `v-${index}`);
    const status = volumesStatus(decide({ names }));
    assert.equal(status?.names.length, 20);
    assert.ok(status !== undefined);
    assert.equal(recordedWait({ nodeRef: { name: 'n' }, volumesInUse: status }), NOW);
  });
});
