/** Evictions of pods of groups, over objects in memory. */
import assert from 'node:assert/strict';
import type { Pod } from '../../../src/api/pod.ts';
import { type EvictionConcurrency, createEvictionConcurrency } from '../../../src/kube/eviction/concurrency.ts';
import {
  createGroupEvictions,
  type GroupEvictions,
  type GroupStep,
} from '../../../src/controller/pod-group/evictions.ts';
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { createEvictionScene, type EvictionScene } from './scene.ts';

const SIGNAL = AbortSignal.timeout(30_000);

/** A pod of a group on a node. */
export function groupPod(name: string, node: string, group = 'train'): Pod {
  const labels = { app: 'train' };
  const spec = { nodeName: node, schedulingGroup: { podGroupName: group } };
  return { metadata: { name, namespace: 'default', uid: `u-${name}`, labels }, spec };
}

/** Evictions of pods of groups over objects in memory. */
export interface GroupScene extends EvictionScene {
  /** The next step of the pod for a drain. */
  evict(name: string): Promise<GroupStep>;
  /** Steps for the pods that leave because their group does. */
  leave(): Promise<void>;
  /** The drain wants the pod no more. */
  release(name: string): Promise<GroupStep>;
  annotate(name: string, annotations: Readonly<Record<string, string>>): void;
  promised(): readonly string[];
  budgetChanged(): readonly string[];
  readonly groups: GroupEvictions;
}

/** A scene with three pods of one group, on two nodes, and one of another group. The node n is drained. */
export function groupScene(disruptionMode: object, podGroups = 200, underWay?: EvictionConcurrency): GroupScene {
  const scene = createEvictionScene();
  for (const each of [groupPod('a', 'n'), groupPod('b', 'n'), groupPod('c', 'other'), groupPod('d', 'n', 'else')]) {
    scene.pods.set(`default/${each.metadata.name}`, each);
  }
  scene.drain([{ podType: 'Default', podPriority: 0 }]);
  const { send } = scene.context.client;
  const client = {
    ...scene.context.client,
    send: async (request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> => {
      const answer = await send(request, signal);
      return request.path.includes('/podgroups/')
        ? { ...answer, status: podGroups, body: { spec: { disruptionMode } } }
        : answer;
    },
  };
  const leaving: string[] = [];
  const groups = createGroupEvictions(
    { ...scene.context, client },
    underWay ?? createEvictionConcurrency(scene.clock),
    (key) => {
      leaving.push(key);
    },
  );
  const evict = async (name: string): Promise<GroupStep> => {
    const target = scene.pods.get(`default/${name}`);
    assert.ok(target !== undefined);
    return await groups.evict(target, SIGNAL);
  };
  return Object.assign(scene, {
    evict,
    leave: async () => {
      await Promise.all(leaving.splice(0).map((key) => groups.release(key, SIGNAL)));
    },
    release: (name: string) => groups.release(`default/u-${name}`, SIGNAL),
    annotate: (name: string, annotations: Readonly<Record<string, string>>) => {
      const known = scene.pods.get(`default/${name}`);
      assert.ok(known !== undefined);
      scene.pods.set(`default/${name}`, { ...known, metadata: { ...known.metadata, annotations } });
    },
    promised: () => groups.promised(),
    budgetChanged: () => groups.budgetChanged('default/pdb'),
    groups,
  });
}

/** The pods whose eviction the API server was asked for, as a trial or not. */
export function asked(scene: EvictionScene, isTrial: boolean): readonly string[] {
  const found = scene.calls().filter((call) => call.endsWith('?dryRun=All') === isTrial && call.includes('/eviction'));
  return found.map((call) => call.replace(/^POST (\w+).*$/, '$1')).toSorted();
}
