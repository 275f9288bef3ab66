import type { Pod } from '../../api/pod.ts';
import { componentOf, isServing } from '../../decide/maintenance/control-plane-members.ts';
import { isTerminal, targetNodeOf } from '../../decide/pod.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import type { Clock } from '../../host/clock.ts';
import { createGrouping } from '../../kube/cache/grouping.ts';
import { isOtherText } from './nodes.ts';
import { annotatedSince, isAnnotatedInProgress } from '../../decide/background-eviction/annotation.ts';

/** The pods that are annotated as being evicted in the background (KEP-1397), by their keys, NAMESPACE/NAME. */
interface BackgroundEvictions {
  keys(): readonly string[];
  /** Since when the pod has the annotation, in milliseconds since the epoch; undefined where it has none. */
  sinceOf(key: string): number | undefined;
  /** Notes that the pod came, changed or went. */
  note(key: string): void;
}

/** Remembers since when the annotation is there: a later write of the same writer makes the time of managedFields later. */
function createBackgroundEvictions(
  cache: Pick<ObjectCache<Pod>, 'get'>,
  clock: Pick<Clock, 'now'>,
): BackgroundEvictions {
  const known = new Map<string, { readonly uid: string | undefined; readonly since: number }>();
  return {
    keys: () => [...known.keys()],
    sinceOf: (key) => known.get(key)?.since,
    note: (key) => {
      const metadata = cache.get(key)?.metadata;
      if (metadata === undefined || !isAnnotatedInProgress(metadata)) {
        known.delete(key);
        return;
      }
      const { uid } = metadata;
      const before = known.get(key);
      if (before !== undefined && before.uid === uid) return;
      known.set(key, { uid, since: annotatedSince(metadata, clock.now()) });
    },
  };
}

/** What a change of a pod means for the index. */
export interface PodChange {
  /** The nodes that the pod was on or meant for, and those that it is on or meant for now. */
  readonly nodes: readonly string[];
  /** Those that it was the last pod to leave or the first one to come to. */
  readonly turned: readonly string[];
  /** Whether a component of the control plane came, went, serves now or serves no longer. */
  readonly isOtherControlPlane: boolean;
}

/** What the guard of the control plane goes by: where a component runs, and whether it serves. */
function componentText(pod: Pod): string | undefined {
  const component = componentOf(pod);
  return component === undefined ? undefined : JSON.stringify([component, pod.spec.nodeName, isServing(pod)]);
}

/** The controller's copies of pods, found by their nodes. */
export interface PodIndex extends ObjectCache<Pod> {
  /** The pods on the node that have not ended. */
  on(node: string): readonly Pod[];
  /** The pods that wait to be scheduled on this node and on no other, as those of DaemonSets do. */
  meantFor(node: string): readonly Pod[];
  /** The pod of the EvictionRequest of this key, NAMESPACE/UID. */
  ofRequest(key: string): Pod | undefined;
  /** The pods that are annotated as being evicted in the background, and since when, in milliseconds since the epoch. */
  readonly inBackground: BackgroundEvictions;
  /** Notes that the pod, NAMESPACE/NAME, came, changed or went. */
  note(key: string): PodChange;
}

/** The key of the EvictionRequest of a pod, which is named by the UID of the pod: NAMESPACE/UID. */
export function requestKeyOf({ metadata: { namespace = 'default', uid = '' } }: Pod): string {
  return `${namespace}/${uid}`;
}

/** Indexes the cached pods; each change has to be noted. */
export function createPodIndex(cache: ObjectCache<Pod>, clock: Pick<Clock, 'now'>): PodIndex {
  const inBackground = createBackgroundEvictions(cache, clock);
  const bound = createGrouping();
  const unbound = createGrouping();
  const components = new Map<string, string>();
  const byRequest = new Map<string, string>();
  const requestOf = new Map<string, string>();
  const found = (keys: ReadonlySet<string>): readonly Pod[] => [...keys].flatMap((key) => cache.get(key) ?? []);
  return {
    ...cache,
    on: (node) => found(bound.under(node)),
    meantFor: (node) => found(unbound.under(node)),
    inBackground,
    ofRequest: (key) => cache.get(byRequest.get(key) ?? ''),
    note: (key) => {
      const pod = cache.get(key);
      inBackground.note(key);
      byRequest.delete(requestOf.get(key) ?? '');
      requestOf.delete(key);
      if (pod !== undefined) {
        requestOf.set(key, requestKeyOf(pod));
        byRequest.set(requestKeyOf(pod), key);
      }
      const before = bound.valuesOf(key);
      const meantBefore = unbound.valuesOf(key);
      const node = pod?.spec.nodeName ?? '';
      const isBound = node !== '';
      const after = pod === undefined || !isBound || isTerminal(pod) ? [] : [node];
      const target = pod === undefined || isBound ? undefined : targetNodeOf(pod);
      const meant = target === undefined ? [] : [target];
      const hadPods = new Map([...before, ...after].map((each) => [each, bound.under(each).size > 0]));
      bound.set(key, after);
      unbound.set(key, meant);
      const turned = [...hadPods].filter(([each, had]) => had !== bound.under(each).size > 0).map(([each]) => each);
      const nodes = [...new Set([...before, ...after, ...meantBefore, ...meant])];
      return { nodes, turned, isOtherControlPlane: isOtherText(components, key, pod && componentText(pod)) };
    },
  };
}
