/**
 * Everything that a maintenance sets on objects of others, against everything that somebody else may have set there: what is
 * ours is given back, and nothing of theirs is taken away or changed.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NODE_NOTE_ANNOTATION } from '../../../src/api/names.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { decideCordon, decideLoadBalancers } from '../../../src/decide/maintenance/cordon.ts';
import { decideNodeConditions, NODE_CONDITIONS } from '../../../src/decide/maintenance/node-conditions.ts';
import { differentAnnotations } from '../../../src/kube/maintenance/cordon.ts';
import { mergePatch } from '../../../src/decide/json.ts';

/** One object of each kind that we change. */
interface World {
  readonly node: Node;
  readonly pod: Pod;
}
type Kind = keyof World;

const FREE: World = {
  node: { metadata: { name: 'n', labels: { zone: 'z' } }, spec: {}, status: {} },
  pod: { metadata: { name: 'p', namespace: 'x', uid: 'u', labels: { app: 'web' } }, spec: {} },
};

/** The world after a merge patch of one object. */
function patched(world: World, kind: Kind, patch: object | undefined): World {
  return patch === undefined ? world : { ...world, [kind]: mergePatch(world[kind], patch) };
}

/** What we set: one step, as a loop takes it again and again while a maintenance is there, and when it is over. */
interface Ours {
  readonly name: string;
  readonly on: Kind;
  step(world: World, isHeld: boolean): Promise<World> | World;
}

function conditionStep(world: World, isHeld: boolean): World {
  const names = isHeld ? ['m'] : [];
  const written = decideNodeConditions(world.node, {
    maintenances: names,
    planned: [],
    draining: names,
    drained: false,
  });
  const types = new Set(written.map(({ type }) => type));
  const kept = (world.node.status?.conditions ?? []).filter(({ type }) => !types.has(type));
  return patched(world, 'node', { status: { conditions: [...kept, ...written] } });
}

const OURS: readonly Ours[] = [
  {
    name: 'the cordon',
    on: 'node',
    step: (w, isHeld) => patched(w, 'node', decideCordon(w.node, isHeld ? ['m'] : [])),
  },
  {
    name: 'the label for load balancers',
    on: 'node',
    step: (w, isHeld) => {
      const labels = decideLoadBalancers(w.node, isHeld);
      return patched(w, 'node', labels && { metadata: { labels } });
    },
  },
  {
    name: 'the note for the agent',
    on: 'node',
    step: (w, isHeld) => {
      const annotations = differentAnnotations(w.node, { [NODE_NOTE_ANNOTATION]: isHeld ? '{}' : undefined });
      return patched(w, 'node', annotations && { metadata: { annotations } });
    },
  },
  { name: 'the conditions', on: 'node', step: conditionStep },
];

/** What somebody else sets, as a merge patch. */
interface Theirs {
  readonly name: string;
  readonly on: Kind;
  readonly patch: object;
  /** Ours that cannot tell it from its own where it is set in the middle: what is the same is not there twice. */
  readonly sameAs?: string;
}

const label = (key: string, value: string): object => ({ metadata: { labels: { [key]: value } } });
const taint = (of: object): object => ({ spec: { taints: [of] } });
const annotation = (key: string, value: string): object => ({ metadata: { annotations: { [key]: value } } });

const THEIRS: readonly Theirs[] = [
  { name: 'a cordon', on: 'node', patch: { spec: { unschedulable: true } }, sameAs: 'the cordon' },
  { name: 'a taint', on: 'node', patch: taint({ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }) },
  { name: "an autoscaler's taint", on: 'node', patch: taint({ key: 'ToBeDeletedByClusterAutoscaler' }) },
  { name: 'a label of the node', on: 'node', patch: label('team', 'shop') },
  { name: 'an annotation of the node', on: 'node', patch: annotation('weave.works/kured-reboot-in-progress', 'now') },
  {
    name: 'the label for load balancers',
    on: 'node',
    patch: label('node.kubernetes.io/exclude-from-external-load-balancers', ''),
  },
  ...NODE_CONDITIONS.map((type): Theirs => {
    const conditions = [{ type, status: 'True', reason: 'NodeShutdown', message: 'by the kubelet' }];
    return { name: `the condition ${type}`, on: 'node', patch: { status: { conditions } } };
  }),
  { name: 'a label of the pod', on: 'pod', patch: label('version', '2') },
  { name: 'an annotation of the pod', on: 'pod', patch: annotation('owner', 'shop') },
];

/** Whether the object has all that the patch says. */
function assertHas(object: unknown, patch: unknown, what: string): void {
  if (Array.isArray(patch)) {
    const list = object as readonly unknown[];
    for (const each of patch) {
      assert.ok(
        list?.some((one) => JSON.stringify(one) === JSON.stringify(each)),
        `${what}: ${JSON.stringify(list)}`,
      );
    }
  } else if (typeof patch === 'object' && patch !== null) {
    for (const [key, value] of Object.entries(patch)) {
      assertHas((object as Record<string, unknown> | undefined)?.[key], value, `${what}, ${key}`);
    }
  } else assert.deepEqual(object, patch, what);
}

/** Somebody's write; of a list of conditions it changes one, as they all do. */
function written(world: World, { on, patch }: Theirs): World {
  const { conditions = [] } = (patch as Node).status ?? {};
  if (conditions.length === 0) return patched(world, on, patch);
  const others = (world.node.status?.conditions ?? []).filter(({ type }) => type !== conditions[0]?.type);
  return patched(world, on, { status: { conditions: [...others, ...conditions] } });
}

/** What is left of ours: everything that the free world does not have, but for conditions, which are False afterwards. */
function leftOver(world: World, on: Kind): object {
  const { conditions = [], ...status } = (world[on] as { status?: Node['status'] }).status ?? {};
  const still = conditions.filter((each) => each.status === 'True');
  const meta = world[on].metadata;
  const kept = (texts: object = {}): object => ({ ...texts });
  return {
    ...world[on],
    metadata: { ...meta, labels: kept(meta.labels), annotations: kept(meta.annotations), resourceVersion: undefined },
    status: { ...status, conditions: still },
  };
}

describe('what is ours and what is theirs', () => {
  for (const ours of OURS) {
    it(`${ours.name} is set, and given back without a trace`, async () => {
      const held = await ours.step(FREE, true);
      assert.notDeepEqual(leftOver(held, ours.on), leftOver(FREE, ours.on));
      assert.deepEqual(await ours.step(held, true), held, 'a second look changes nothing');
      assert.deepEqual(leftOver(await ours.step(held, false), ours.on), leftOver(FREE, ours.on));
    });

    it(`${ours.name} takes away nothing that somebody else has set before`, async () => {
      for (const theirs of THEIRS) {
        const before = written(FREE, theirs);
        const held = await ours.step(await ours.step(before, true), true);
        assertHas(held[theirs.on], theirs.patch, theirs.name);
        assertHas((await ours.step(held, false))[theirs.on], theirs.patch, theirs.name);
      }
    });

    it(`${ours.name} takes away nothing that somebody else sets in the middle`, async () => {
      for (const theirs of THEIRS.filter(({ sameAs }) => sameAs !== ours.name)) {
        const middle = await ours.step(written(await ours.step(FREE, true), theirs), true);
        assertHas(middle[theirs.on], theirs.patch, theirs.name);
        assertHas((await ours.step(middle, false))[theirs.on], theirs.patch, theirs.name);
      }
    });
  }

  it('all of ours together take away nothing of all of theirs together', async () => {
    const all = async (world: World, isHeld: boolean): Promise<World> => {
      let after = world;
      for (const { step } of OURS) after = await step(after, isHeld);
      return after;
    };
    const theirs = THEIRS.filter(({ patch }) => (patch as Node).status === undefined);
    for (const moment of ['before', 'in the middle'] as const) {
      let world = moment === 'before' ? FREE : await all(FREE, true);
      const set = theirs.filter(({ sameAs }) => moment === 'before' || sameAs === undefined);
      for (const each of set) world = written(world, each);
      const after = await all(await all(world, true), false);
      for (const { name, on, patch } of set) {
        if (name !== 'a taint') assertHas(after[on], patch, `${name} ${moment}`);
      }
    }
  });
});
