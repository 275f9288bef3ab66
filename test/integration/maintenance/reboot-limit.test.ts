import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Program } from '../../control-plane/process.ts';
import { startNodemaint } from '../../support/commands/nodemaint.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { drainedOf, type Machines, type Moment, startMachines } from '../../support/rigs/reboots.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const APP = 'web';

/** What was wrong at any moment. */
interface Watch extends AsyncDisposable {
  readonly faults: ReadonlySet<string>;
  /** The nodes in the order in which their drains began. */
  readonly begun: readonly string[];
  /** What the waiting ones said. */
  readonly messages: ReadonlySet<string>;
}

function hasBegun({ status }: NodeMaintenance): boolean {
  return status?.nodeStatuses?.some(({ drainStartTime }) => drainStartTime !== undefined) === true;
}

/** Looks at the cluster again and again, and notes a budget that is broken and a waiting node that takes no pods. */
function watch(machines: Machines, minAvailable: number): Watch {
  const stopping = new AbortController();
  const [faults, messages] = [new Set<string>(), new Set<string>()];
  const begun: string[] = [];
  const judge = ({ nodes, pods, maintenances }: Moment): void => {
    const ready = pods.filter(
      ({ metadata, status }) =>
        metadata.labels?.['app'] === APP &&
        metadata.deletionTimestamp === undefined &&
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    );
    if (ready.length < minAvailable) faults.add(`only ${ready.length} pods of the budget are left`);
    for (const each of maintenances.filter(({ spec }) => spec.stage === 'Drain')) {
      const name = each.metadata.labels?.['nodemaintenance.x-k8s.io/agent'] ?? '';
      const message = drainedOf(each);
      if (hasBegun(each)) {
        if (begun.at(-1) !== name && !begun.includes(name)) begun.push(name);
      } else if (message !== '') {
        messages.add(message.replace(/since \S+:/u, 'since TIME:'));
        const node = nodes.find(({ metadata }) => metadata.name === name);
        if (node?.spec?.unschedulable === true) faults.add(`${name} waits and is cordoned`);
      }
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        judge(await machines.look());
      } catch {
        // The test is over.
      }
      await setTimeout(50);
    }
  };
  const running = run();
  return {
    faults,
    begun,
    messages,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

describe('machines that are asked to reboot at once, on a real control plane', () => {
  let rig: EvictionRig;
  let machines: Machines;
  let count = 0;
  let names: readonly string[] = [];
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    count += 1;
    names = ['a', 'b', 'c', 'd'].map((letter) => `node-${count}${letter}`);
    machines = await startMachines(rig, names);
  });
  afterEach(async () => {
    await kubectl('delete', 'nm', '--all', '--wait=false');
    await kubectl('delete', 'deployment,pdb', '--all');
    await machines[Symbol.asyncDispose]();
    await kubectl('delete', 'pod', '--all', '--force', '--grace-period=0');
    for (const name of names) await kubectl('delete', 'node', name);
  });

  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const apply = (object: object): Promise<string> =>
    rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  /** An application of so many replicas, spread over the nodes, of which so many have to be available. */
  const deploy = async (replicas: number, minAvailable: number): Promise<void> => {
    const labels = { app: APP };
    const spread = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: labels },
    };
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: APP, namespace: 'default' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            topologySpreadConstraints: [spread],
            containers: [{ name: 'main', image: 'none.invalid/none' }],
            terminationGracePeriodSeconds: 1,
          },
        },
      },
    });
    await apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: APP, namespace: 'default' },
      spec: { minAvailable, selector: { matchLabels: labels } },
    });
    const allowed = ['get', 'pdb', APP, '-o', 'jsonpath={.status.disruptionsAllowed}'];
    const isReady = async (): Promise<boolean> => (await kubectl(...allowed)) === String(replicas - minAvailable);
    await waitFor('the application is ready', isReady, SLOW);
  };
  const startController = (...flags: readonly string[]): Program => {
    const log = path.join(rig.folder, `controller-${count}-${Math.random()}.log`);
    return startNodemaint(['controller', '--kubeconfig', rig.controllerKubeconfig, ...flags], log);
  };
  const allBooted = (which: readonly string[] = names): boolean =>
    which.every((name) => machines.boots.get(name) === 1);
  const allGivenBack = async (): Promise<boolean> => {
    const { nodes, maintenances } = await machines.look();
    const isOpen = maintenances.some(({ spec }) => spec.stage === 'Drain');
    return !isOpen && nodes.every(({ spec }) => spec?.unschedulable !== true);
  };

  const find = async (name: string): Promise<NodeMaintenance | undefined> =>
    (await machines.look()).maintenances.find(({ metadata }) => metadata.name === name);

  it('the only node of the control plane and two workers go one after another, and their budget holds throughout', async () => {
    const [only = '', ...others] = names.slice(0, 3);
    await kubectl('label', 'node', only, 'node-role.kubernetes.io/control-plane=');
    await deploy(3, 2);
    await using controller = startController('--max-parallel-reboots', '1');
    await using seen = watch(machines, 2);
    await machines.reboot([only]);
    await machines.reboot(others);
    await waitFor('all are back', () => allBooted([only, ...others]), { ...SLOW, program: controller });
    await waitFor('all are given back', allGivenBack, SLOW);
    assert.deepEqual([...seen.faults], []);
    assert.equal(seen.begun[0], only);
    assert.ok([...seen.messages].some((message) => message.startsWith('WaitingForTurn: ')));
  });

  it('pods keep their budgets that moved to a waiting machine long after it was asked, and those that are pinned to theirs', async () => {
    const [first = '', second = '', third = '', pinned = ''] = names;
    // Before the pods are placed, so that each of them is on one of the other two.
    await kubectl('cordon', third);
    await kubectl('cordon', pinned);
    await deploy(2, 1);
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'storage', namespace: 'default', labels: { app: 'storage' } },
      spec: {
        nodeName: pinned,
        nodeSelector: { 'kubernetes.io/hostname': pinned },
        containers: [{ name: 'c', image: 'none.invalid/none' }],
      },
    });
    await apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'storage', namespace: 'default' },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'storage' } } },
    });
    await using controller = startController('--max-parallel-reboots', '2');
    await using seen = watch(machines, 1);
    machines.lost.add(first);
    const asked: string[] = [];
    for (const node of [pinned, first]) {
      const [name = ''] = await machines.reboot([node]);
      asked.push(name);
      await waitFor(`${node} goes down`, async () => hasBegun((await find(name)) ?? assert.fail()), {
        ...SLOW,
        program: controller,
      });
    }
    const [ofPinned = ''] = asked;
    const [ofSecond = ''] = await machines.reboot([second]);
    const onSecond = async (): Promise<number> =>
      (await machines.look()).pods.filter(
        ({ metadata, spec }) => metadata.labels?.['app'] === APP && spec.nodeName === second,
      ).length;
    await waitFor(
      'the first machine is gone and its pod runs on the second, which waits',
      async () => {
        assert.match(drainedOf(await find(ofSecond)), /^WaitingForTurn: /);
        assert.equal(await onSecond(), 2);
        return true;
      },
      { ...SLOW, program: controller },
    );
    await kubectl('patch', 'pdb', APP, '--type=merge', '-p', '{"spec":{"minAvailable":2}}');
    // Longer than a machine that goes down waits for pods that come past its cordon.
    await setTimeout(70_000);
    machines.lost.delete(first);
    await waitFor(
      'the second machine has its turn',
      async () => hasBegun((await find(ofSecond)) ?? assert.fail()),
      SLOW,
    );
    await setTimeout(10_000);
    assert.equal(await onSecond(), 2, 'the budget keeps them');
    const podTypes = (await find(ofSecond))?.status?.nodeStatuses?.[0]?.drainTargets?.map(({ podType }) => podType);
    assert.deepEqual(podTypes, ['Default']);
    const storage = (await machines.look()).pods.find(({ metadata }) => metadata.name === 'storage');
    assert.deepEqual([storage?.spec.nodeName, storage?.metadata.deletionTimestamp], [pinned, undefined]);
    const [held] = (await find(ofPinned))?.status?.nodeStatuses ?? [];
    const found = [held?.budgetsNotAsked, held?.podsBlocking?.map(({ reason }) => reason)];
    assert.deepEqual(found, [undefined, ['PodDisruptionBudget']]);
    await kubectl('patch', 'pdb', APP, '--type=merge', '-p', '{"spec":{"minAvailable":1}}');
    await waitFor('the second machine is back', () => allBooted([second]), SLOW);
    assert.deepEqual([...seen.faults], []);
  });
});
