/** The controllers of Kubernetes beside the product: DaemonSets have their pods, and budgets say how many may go. */
import type { KubeObject, LabelSelector } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isReady, isTerminal, targetNodeOf } from '../../../src/decide/pod.ts';
import { labelSelectorMatches } from '../../../src/decide/selector.ts';
import { collectionPath, DISRUPTION_BUDGETS, objectPath, PODS } from '../../../src/kube/resource.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import type { Budget } from '../api-server/eviction.ts';
import type { ModelServer } from '../api-server/server.ts';

interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly metadata: object;
      readonly spec: { readonly nodeSelector: Readonly<Record<string, string>> };
    };
  };
}

function podOfSet({ metadata, spec: { template } }: DaemonSet, node: string): object {
  const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: metadata.name, uid: metadata.uid, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      name: `${metadata.name}-${crypto.randomUUID().slice(0, 5)}`,
      namespace: metadata.namespace,
      ownerReferences: [owner],
    },
    spec: { ...template.spec, affinity: { nodeAffinity: required } },
  };
}

/** Makes the pods that DaemonSets lack, takes away those of sets that are gone, and binds those without a gate. */
export async function runDaemonSets(world: ClusterPart, server: ModelServer): Promise<void> {
  const sets = server.objects.list('DaemonSet') as readonly DaemonSet[];
  const isOf = (set: DaemonSet, pod: Pod): boolean =>
    pod.metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true;
  for (const set of sets) {
    const own = world.pods().filter((pod) => isOf(set, pod));
    const selector = Object.entries(set.spec.template.spec.nodeSelector);
    for (const { metadata } of world.nodes()) {
      if (selector.some(([label, value]) => metadata.labels?.[label] !== value)) continue;
      if (own.some((pod) => targetNodeOf(pod) === metadata.name)) continue;
      const path = collectionPath(PODS, set.metadata.namespace);
      await world.send({ method: 'POST', path, body: podOfSet(set, metadata.name) });
    }
  }
  for (const pod of world.pods().filter(({ metadata }) => metadata.ownerReferences !== undefined)) {
    const path = objectPath(PODS, pod.metadata);
    const node = targetNodeOf(pod);
    const isOrphan = !sets.some((set) => isOf(set, pod));
    if (isOrphan && pod.metadata.deletionTimestamp === undefined) await world.send({ method: 'DELETE', path });
    else if (pod.spec.nodeName === undefined && (pod.spec.schedulingGates ?? []).length === 0) {
      if (pod.metadata.deletionTimestamp !== undefined) continue;
      await world.send({ method: 'PATCH', path, body: { spec: { nodeName: node } }, patch: { kind: 'merge' } });
    }
  }
}

/** Ends pods whose node is gone, as the garbage collector of pods does. */
export async function collectPods(world: ClusterPart): Promise<void> {
  const nodes = new Set(world.nodes().map(({ metadata }) => metadata.name));
  for (const { metadata, spec } of world.pods()) {
    if (spec.nodeName === undefined || nodes.has(spec.nodeName)) continue;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: metadata.uid },
    };
    await world.send({ method: 'DELETE', path: objectPath(PODS, metadata), body });
  }
}

/** Counts the pods of budgets, as the disruption controller does. */
export async function runBudgets(world: ClusterPart, server: ModelServer): Promise<void> {
  const budgets = server.objects.list('PodDisruptionBudget') as readonly (Budget & {
    spec: { minAvailable?: number };
  })[];
  for (const { metadata, spec, status } of budgets) {
    const selector: LabelSelector = spec.selector;
    const pods = world
      .pods()
      .filter(
        (pod) =>
          pod.metadata.namespace === metadata.namespace &&
          !isTerminal(pod) &&
          labelSelectorMatches(selector, pod.metadata.labels ?? {}),
      );
    const currentHealthy = pods.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length;
    const desiredHealthy = Math.max(0, Math.min(spec.minAvailable ?? 0, 1_000));
    const counts = {
      observedGeneration: metadata.generation ?? 1,
      currentHealthy,
      desiredHealthy,
      expectedPods: pods.length,
      disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy),
      disruptedPods: null,
    };
    const isSame = Object.entries(counts).every(([name, value]) => (Reflect.get(status ?? {}, name) ?? null) === value);
    if (isSame) continue;
    const path = objectPath(DISRUPTION_BUDGETS, metadata, 'status');
    await world.send({ method: 'PATCH', path, body: { status: counts }, patch: { kind: 'merge' } });
  }
}
