import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import path from 'node:path';
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
  return (status?.drainPlanPosition ?? 0) > 0;
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
      await new Promise((resolve) => setTimeout(resolve, 50));
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
    names = ['a', 'b', 'c'].map((letter) => `node-${count}${letter}`);
    machines = await startMachines(rig.client, names);
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

  it('three reboots go one after another as the budget needs it, and those that wait stay schedulable', async () => {
    await deploy(3, 2);
    await using controller = startController();
    await using seen = watch(machines, 2);
    await machines.reboot(names);
    await waitFor('all are back', () => allBooted(), { ...SLOW, program: controller });
    await waitFor('all are given back', allGivenBack, SLOW);
    assert.deepEqual([...seen.faults], []);
    assert.equal(seen.begun.length, 3);
    const waits = [...seen.messages].filter((message) => message.startsWith('Waiting: '));
    const known =
      /^Waiting: Waiting for its turn to reboot since TIME: node-\d\w(, node-\d\w)? goe?s? first, because of the PodDisruptionBudget default\/web\.$/u;
    assert.ok(waits.length > 0, 'nobody waited');
    for (const message of waits) assert.match(message, known);
  });

  it('machines that no budget covers go down at once, and one at a time with --max-parallel-reboots=1', async () => {
    await using stack = new AsyncDisposableStack();
    const first = stack.use(startController());
    await machines.reboot(names);
    const areAllBegun = async (): Promise<boolean> => {
      const { maintenances } = await machines.look();
      return maintenances.filter(hasBegun).length === 3;
    };
    await waitFor('all have begun', areAllBegun, { ...SLOW, program: first });
    await waitFor('all are back', () => allBooted(), SLOW);
    await waitFor('all are given back', allGivenBack, SLOW);
    first.kill('SIGKILL');
    const limited = stack.use(startController('--max-parallel-reboots', '1'));
    const seen = stack.use(watch(machines, 0));
    await machines.reboot(names);
    const isBack = (): boolean => names.every((name) => machines.boots.get(name) === 2);
    await waitFor('all are back again', isBack, { ...SLOW, program: limited });
    assert.deepEqual([...seen.faults], []);
    assert.ok([...seen.messages].some((message) => message.includes('at most one node reboots at once')));
  });

  it('others have their turn when one does not come back', async () => {
    await deploy(2, 1);
    await using controller = startController('--max-reboot-time', '8s', '--max-parallel-reboots', '1');
    await using seen = watch(machines, 1);
    for (const name of names.slice(0, 1)) machines.lost.add(name);
    await machines.reboot(names.slice(0, 1));
    const isDown = async (): Promise<boolean> => (await machines.look()).maintenances.some((each) => hasBegun(each));
    await waitFor('the first one goes down', isDown, { ...SLOW, program: controller });
    await machines.reboot(names.slice(1));
    await waitFor('the others are back', () => allBooted(names.slice(1)), { ...SLOW, program: controller });
    assert.deepEqual([...seen.faults], []);
    assert.deepEqual(seen.begun.slice(0, 1), names.slice(0, 1));
  });

  it('turns go on where they were when the controller is killed in the middle', async () => {
    await deploy(3, 2);
    await using stack = new AsyncDisposableStack();
    const first = stack.use(startController());
    const seen = stack.use(watch(machines, 2));
    await machines.reboot(names);
    await waitFor('one is back', () => names.some((name) => machines.boots.get(name) === 1), {
      ...SLOW,
      program: first,
    });
    first.kill('SIGKILL');
    stack.use(startController());
    await waitFor('all are back', () => allBooted(), SLOW);
    await waitFor('all are given back', allGivenBack, SLOW);
    assert.deepEqual([...seen.faults], []);
  });

  it('one that waits begins at once with a deadline, and leaves the order when it is called off', async () => {
    await deploy(3, 2);
    await using controller = startController('--max-parallel-reboots', '1');
    machines.lost.add(names[0] ?? '');
    const [, second = '', third = ''] = await machines.reboot(names);
    const find = async (name: string): Promise<NodeMaintenance | undefined> =>
      (await machines.look()).maintenances.find(({ metadata }) => metadata.name === name);
    const waits = async (name: string): Promise<boolean> => drainedOf(await find(name)).startsWith('Waiting: ');
    await waitFor('two wait', async () => (await waits(second)) && (await waits(third)), {
      ...SLOW,
      program: controller,
    });
    const soon = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+Z$/u, 'Z');
    await kubectl('annotate', 'nm', second, `nodemaintenance.x-k8s.io/deadline=${soon}`);
    await waitFor(
      'the one with a deadline begins',
      async () => {
        const found = await find(second);
        return found !== undefined && hasBegun(found);
      },
      SLOW,
    );
    assert.ok(await waits(third));
    await kubectl('patch', 'nm', third, '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
    await waitFor(
      'the third is complete and was never cordoned',
      async () => (await find(third))?.metadata.finalizers === undefined,
      SLOW,
    );
    const node = (await machines.look()).nodes.find(({ metadata }) => metadata.name === names[2]);
    assert.equal(node?.spec?.unschedulable, undefined);
  });
});
