import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  BOOT_ANNOTATION,
  DEADLINE_ANNOTATION,
  MIRROR_ANNOTATION,
  SHUTDOWN_KIND_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { createIndexes } from '../../../../src/controller/cache/indexes.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { DrainObserver } from '../../../../src/controller/maintenance/observer.ts';
import { parseRebootLimit } from '../../../../src/decide/reboot/limit.ts';
import { handedOverStatuses } from '../../../../src/decide/maintenance/recorded-node.ts';
import { effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { nodeStateOf } from '../../../../src/decide/maintenance/node-conditions.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { cacheOfMap, noteAll } from '../../../support/maintenance/indexes.ts';
import { byName, maintenanceOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const MINUTE = 60_000;

/** A cluster whose controller looks at all drains again and again, and writes what it sees. */
function cluster(names: readonly string[], limit = '1') {
  const clock = createSteppingClock();
  const maintenances = new Map<string, NodeMaintenance>();
  const nodes = new Map<string, Node>();
  const pods = new Map<string, Pod>();
  const nothing = cacheOfMap(new Map<string, never>());
  const copies = { maintenances: cacheOfMap(maintenances), nodes: cacheOfMap(nodes), pods: cacheOfMap(pods) };
  const indexes = createIndexes({ ...copies, requests: nothing }, clock);
  const options = { maxParallelReboots: parseRebootLimit(limit), maxVolumeTime: 0 };
  const context = { clock, options, ungated: { on: () => [] }, ...indexes } as unknown as ControllerContext;
  let observer = new DrainObserver(context);
  const put = (name: string, isReady = true, bootId = `${name}-1`): void => {
    const labels: Record<string, string> = name.startsWith('cp') ? { 'node-role.kubernetes.io/control-plane': '' } : {};
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' } as const];
    const metadata = { name, uid: `uid-${name}`, labels };
    nodes.set(name, { metadata, status: { conditions, nodeInfo: { bootID: bootId } } });
    indexes.maintenances.noteNode(name);
  };
  const podOn = (name: string, node: string, metadata: Partial<Pod['metadata']> = {}): void => {
    const creationTimestamp = rfc3339(clock.now());
    pods.set(`shop/${name}`, {
      metadata: { name, namespace: 'shop', uid: name, creationTimestamp, ...metadata },
      spec: { nodeName: node, priority: 0 },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
    indexes.pods.note(`shop/${name}`);
  };
  const store = (maintenance: NodeMaintenance): void => {
    maintenances.set(maintenance.metadata.name, maintenance);
    indexes.maintenances.note(maintenance.metadata.name);
  };
  let asked = 0;
  /** The agent of the node asks to reboot; a second later than the one before it. */
  const reboot = (node: string, name = `shutdown-${node}-0`, annotations: Record<string, string> = {}): void => {
    clock.pass(1_000);
    asked += 1;
    const all = { [SHUTDOWN_KIND_ANNOTATION]: 'reboot', ...annotations };
    const metadata = { name, uid: `${name}-${asked}`, creationTimestamp: rfc3339(clock.now()), annotations: all };
    store(ownMaintenanceOf(node, metadata, { drainPlan: effectiveDrainPlan([]) }));
  };
  const remove = (name: string): void => {
    maintenances.delete(name);
    indexes.maintenances.note(name);
  };
  const look = (): void => {
    clock.pass(1_000);
    for (const maintenance of maintenances.values()) {
      if (maintenance.spec.stage !== 'Drain') continue;
      const { status } = observer.observe(maintenance, clock.now());
      store({ ...maintenance, status: { ...maintenance.status, ...status } });
    }
  };
  const pass = (minutes: number): void => {
    for (let at = 0; at < minutes; at += 1) {
      clock.pass(MINUTE);
      look();
    }
  };
  const reasonOf = (name: string): string =>
    maintenances.get(name)?.status?.conditions?.find(({ type }) => type === 'Drained')?.reason ?? '';
  /** The nodes whose drains have begun, of those that are still asked for. */
  const begun = (): readonly string[] =>
    [...maintenances.values()]
      .flatMap(({ status }) => status?.nodeStatuses ?? [])
      .filter(({ drainStartTime }) => drainStartTime !== undefined)
      .map(({ nodeRef }) => nodeRef.name)
      .toSorted();
  const complete = (name: string): void => {
    const known = maintenances.get(name);
    if (known !== undefined) store({ ...known, spec: { ...known.spec, stage: 'Complete' } });
  };
  for (const name of names) put(name);
  noteAll(indexes);
  const isCordoned = (node: string): boolean => {
    const found = nodes.get(node);
    return found !== undefined && nodeStateOf(indexes.maintenances.on(node), found, false).maintenances.length > 0;
  };
  return {
    clock,
    maintenances,
    put,
    podOn,
    store,
    reboot,
    remove,
    look,
    pass,
    reasonOf,
    begun,
    complete,
    isCordoned,
    lead: () => (observer = new DrainObserver(context)),
    removePod: (name: string) => {
      pods.delete(`shop/${name}`);
      indexes.pods.note(`shop/${name}`);
    },
    observe: (name: string) => observer.observe(maintenances.get(name) ?? assert.fail(name), clock.now()),
  };
}

describe('machines that are asked to reboot', () => {
  it('go down one after the other, in the order in which they were asked, and those that wait stay schedulable', () => {
    const world = cluster(['a', 'b', 'c']);
    for (const node of ['c', 'a', 'b']) world.reboot(node);
    world.look();
    assert.deepEqual(world.begun(), ['c']);
    for (const name of ['shutdown-a-0', 'shutdown-b-0']) assert.equal(world.reasonOf(name), 'WaitingForTurn');
    assert.deepEqual(['a', 'b', 'c'].map(world.isCordoned), [false, false, true]);
    world.put('c', false);
    world.pass(5);
    assert.deepEqual(world.begun(), ['c'], 'it is away');
    world.put('c', false, 'c-2');
    world.complete('shutdown-c-0');
    world.pass(2);
    assert.deepEqual(world.begun(), ['c'], 'it is booted and not Ready yet');
    world.put('c', true, 'c-2');
    world.pass(1);
    assert.deepEqual(world.begun(), ['a', 'c']);
    assert.deepEqual(['a', 'b'].map(world.isCordoned), [true, false]);
  });

  it('a pod that moved to a waiting machine is evicted and waited for in its turn, with all that its drain promises', () => {
    const world = cluster(['a', 'b']);
    world.podOn('db-0', 'a');
    for (const node of ['a', 'b']) world.reboot(node);
    world.look();
    world.removePod('db-0');
    world.pass(5);
    world.podOn('db-0', 'b');
    world.pass(5);
    world.put('a', true, 'a-2');
    world.complete('shutdown-a-0');
    world.pass(1);
    assert.deepEqual(world.begun(), ['a', 'b']);
    world.pass(5);
    const { resolution } = world.observe('shutdown-b-0');
    const evicting = resolution?.nodes.flatMap((node) => node.evicting.map(({ name }) => name));
    assert.deepEqual([resolution?.drained, evicting], [false, ['db-0']]);
    const podTypes = resolution?.nodes[0]?.drainTargets.map(({ podType }) => podType);
    assert.deepEqual(podTypes, ['Default']);
  });

  it('a place is given up after half an hour, and until then the order of others does not change', () => {
    const world = cluster(['a', 'b', 'c']);
    world.podOn('stays', 'a');
    for (const node of ['a', 'b', 'c']) world.reboot(node);
    world.pass(29);
    assert.deepEqual(world.begun(), ['a']);
    world.pass(3);
    assert.deepEqual(world.begun(), ['a', 'b']);
    world.pass(5);
    assert.deepEqual(world.begun(), ['a', 'b'], 'the next one has its whole time, too');
  });

  it('a node that asks again and again has one place for one term, whatever deadline it names', () => {
    const world = cluster(['bad', 'good']);
    const annotations = { [DEADLINE_ANNOTATION]: '2099-01-01T00:00:00Z' };
    world.podOn('stays', 'bad');
    world.reboot('bad', 'shutdown-bad-y', annotations);
    world.reboot('bad', 'shutdown-bad-z', annotations);
    world.look();
    world.reboot('good');
    for (let renewed = 0; renewed < 12; renewed += 1) {
      world.pass(3);
      world.reboot('bad', `shutdown-bad-${renewed.toString(36)}`, annotations);
      world.remove(renewed === 0 ? 'shutdown-bad-y' : `shutdown-bad-${(renewed - 1).toString(36)}`);
    }
    assert.ok(world.begun().includes('good'));
  });

  const ends: readonly [string, (world: ReturnType<typeof cluster>) => void, readonly string[]][] = [
    [
      'a machine that is back counts no longer, also where its maintenance stays open until a person completes it',
      (world) => world.put('a', true, 'a-2'),
      ['a', 'b'],
    ],
    ['a shutdown that is called off gives its place back', (world) => world.remove('shutdown-a-0'), ['b']],
  ];
  for (const [title, end, begun] of ends) {
    it(title, () => {
      const world = cluster(['a', 'b']);
      world.podOn('stays', 'a');
      for (const node of ['a', 'b']) world.reboot(node);
      world.look();
      end(world);
      world.pass(1);
      assert.deepEqual(world.begun(), begun);
    });
  }

  it('a new leader keeps the places, and the time since when they are held', () => {
    const world = cluster(['a', 'b']);
    world.podOn('stays', 'a');
    for (const node of ['a', 'b']) world.reboot(node);
    world.pass(20);
    world.lead();
    world.pass(5);
    assert.deepEqual(world.begun(), ['a']);
    world.pass(10);
    assert.deepEqual(world.begun(), ['a', 'b']);
  });

  it('a share of the nodes goes down at once', () => {
    const names = Array.from({ length: 20 }, (_, at) => `n-${at}`);
    const world = cluster(names, '10%');
    for (const name of names) world.podOn(`on-${name}`, name);
    for (const name of names.slice(0, 5)) world.reboot(name);
    world.look();
    assert.deepEqual(world.begun(), ['n-0', 'n-1']);
  });

  it('what is handed over with targets has begun: it stays cordoned and takes no turn', () => {
    const world = cluster(['a', 'b']);
    world.podOn('stays', 'a');
    world.reboot('a');
    world.look();
    world.reboot('b');
    const made = world.maintenances.get('shutdown-b-0') ?? assert.fail();
    const [node, targets] = [{ name: 'b', uid: 'uid-b' }, effectiveDrainPlan([])];
    const nodeStatuses = handedOverStatuses(undefined, node, { targets, now: world.clock.now() });
    world.store({ ...made, status: { nodeStatuses: nodeStatuses ?? [] } });
    for (let minutes = 0; minutes < 40; minutes += 10) {
      assert.equal(world.isCordoned('b'), true);
      assert.deepEqual(world.begun(), ['a', 'b']);
      const { status } = world.maintenances.get('shutdown-b-0') ?? {};
      const types = new Set(status?.nodeStatuses?.[0]?.drainTargets?.map(({ podType }) => podType));
      assert.deepEqual([...types], ['Default', 'DaemonSet', 'Static']);
      world.pass(10);
    }
  });
});

describe('members of the control plane that are asked to reboot', () => {
  const members = (world: ReturnType<typeof cluster>, names: readonly string[]): void => {
    for (const node of names)
      for (const component of ['etcd', 'kube-apiserver']) {
        const annotations = { [MIRROR_ANNOTATION]: 'x' };
        world.podOn(`${component}-${node}`, node, { labels: { component }, annotations });
      }
  };

  const three = (): ReturnType<typeof cluster> => {
    const world = cluster(['cp1', 'cp2', 'cp3'], '3');
    members(world, ['cp1', 'cp2', 'cp3']);
    return world;
  };

  it('no time gives one its turn while another does not come back', () => {
    const world = cluster(['cp1', 'cp2', 'cp3', 'w1', 'w2'], '3');
    members(world, ['cp1', 'cp2', 'cp3']);
    world.put('cp1', false);
    world.reboot('cp2');
    world.reboot('w1');
    world.pass(24 * 60);
    assert.deepEqual(world.begun(), ['w1'], 'a worker does not wait for it, and it takes no place');
    assert.equal(world.reasonOf('shutdown-cp2-0'), 'WaitingForControlPlane');
    assert.equal(world.isCordoned('cp2'), false);
    world.put('cp1');
    world.pass(1);
    assert.deepEqual(world.begun(), ['cp2', 'w1']);
  });

  it('no time gives one its turn while the maintenance of another one is open, as with onBoot: wait', () => {
    const world = cluster(['cp1', 'cp2', 'cp3'], '3');
    members(world, ['cp2', 'cp3']);
    world.reboot('cp1');
    world.reboot('cp2');
    world.look();
    world.put('cp1', true, 'cp1-2');
    world.pass(120);
    assert.deepEqual(world.begun(), ['cp1']);
    members(world, ['cp1']);
    world.complete('shutdown-cp1-0');
    world.pass(1);
    assert.deepEqual(world.begun(), ['cp1', 'cp2']);
  });

  it('those that are asked at once reboot one after the other, and a drain of a person counts', () => {
    const world = three();
    for (const node of ['cp1', 'cp2', 'cp3']) world.reboot(node);
    world.pass(60);
    assert.deepEqual(world.begun(), ['cp1']);
    const person = three();
    person.store(maintenanceOf({ stage: 'Drain', nodeSelector: byName('cp1') }, { name: 'hardware', uid: 'h' }));
    person.look();
    person.reboot('cp2');
    person.pass(120);
    assert.deepEqual(person.begun(), ['cp1']);
  });

  it('the only member reboots, and a drain of a person does not take it', () => {
    const world = cluster(['cp1', 'w1', 'w2']);
    members(world, ['cp1']);
    world.reboot('cp1', 'shutdown-cp1-0', { [BOOT_ANNOTATION]: 'cp1-1' });
    world.pass(1);
    assert.deepEqual(world.begun(), ['cp1']);
    world.remove('shutdown-cp1-0');
    world.store(maintenanceOf({ stage: 'Drain', nodeSelector: byName('cp1') }, { name: 'person', uid: 'p' }));
    world.pass(1);
    assert.deepEqual([world.begun(), world.reasonOf('person')], [[], 'Waiting']);
  });

  it('a shutdown that was called off and is asked for again waits like any other', () => {
    const world = three();
    world.reboot('cp1');
    world.look();
    world.remove('shutdown-cp1-0');
    world.reboot('cp2');
    world.look();
    world.reboot('cp1', 'shutdown-cp1-1');
    world.pass(60);
    assert.deepEqual([world.begun(), world.reasonOf('shutdown-cp1-1')], [['cp2'], 'WaitingForControlPlane']);
  });
});
