import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Eviction, LifecycleRequest, ResponderState, ResponderStatus } from '../../../src/api/lifecycle.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import type { Resource } from '../../../src/kube/resource.ts';
import {
  EVICTIONS,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  PODS,
  requestBody,
  said,
} from '../../support/rigs/lifecycle.ts';

export const A = 'a.example.com/foo';
export const B = 'b.example.com/bar';
export const EVICTOR = 'imperative-eviction.k8s.io/evictor';
export const OTHER_UID = '55fcee67-c0cb-409d-b610-c16d9d765b7b';
export const AWAITING = ['False AwaitingEviction', 'False AwaitingEviction'] as const;
export const NO_REQUESTERS = ['False EvictionFailed', 'True CanceledDueToNoRequesters: No active requesters'] as const;
export const NO_RESPONDER = [
  'False EvictionFailed',
  'True NoFurtherResponder: All responders have completed without evicting',
] as const;
export const TERMINAL = ['True PodTerminal: Pod has reached terminal', 'False Succeeded'] as const;
export const DELETED = ['True PodDeleted: Target pod has been deleted', 'False Succeeded'] as const;

export type Said = readonly [evicted: string, failed: string];

export function says(object: Eviction | LifecycleRequest, [evicted, failed]: Said): boolean {
  return said(object, 'TargetEvicted').startsWith(evicted) && said(object, 'Failed').startsWith(failed);
}

export function hasStates(eviction: Eviction, states: readonly ResponderState[]): boolean {
  const found = eviction.status?.targetResponders?.map(({ name, priority, state }) => `${name} ${priority} ${state}`);
  const wanted = [`${A} 1001 ${states[0]}`, `${B} 1000 ${states[1]}`, `${EVICTOR} 100 ${states[2]}`];
  return JSON.stringify(found) === JSON.stringify(wanted);
}

/** What a responder writes, as upstream's cases do: an hour to go. */
export function report(name: string, isCompleted: boolean): ResponderStatus {
  const now = Date.now();
  return {
    name,
    heartbeatTime: rfc3339(now),
    expectedCompletionTime: rfc3339(now + 3_600_000),
    message: name,
    ...(isCompleted ? { completionTime: rfc3339(now) } : {}),
  };
}

/** For how long something has to stay as it is, and how often it is looked at, in milliseconds. */
export interface Watching {
  readonly ms: number;
  readonly everyMs: number;
}

/** Calls `look` again and again for this time; it throws where something is not as it has to be. */
export async function holdsFor({ ms, everyMs }: Watching, look: () => Promise<void>): Promise<void> {
  const until = performance.now() + ms;
  do {
    await delay(everyMs);
    await look();
  } while (performance.now() < until);
}

const LOOK_MS = 100;

/** What the cases do again and again. */
export interface Scene {
  newNamespace(): Promise<string>;
  createRequest(pod: Pod, requester?: string): Promise<LifecycleRequest>;
  withIntent(request: LifecycleRequest, intent: string): Promise<LifecycleRequest>;
  untilRequest(request: LifecycleRequest, wanted: Said, generation: number): Promise<LifecycleRequest>;
  untilEviction(
    of: Pick<Eviction, 'metadata'>,
    what: string,
    wanted: (eviction: Eviction) => boolean,
    timeoutMs?: number,
  ): Promise<Eviction>;
  /** Fails where anything is written into the object within this time. */
  stays(resource: Resource, object: KubeObject, ms: number): Promise<void>;
  endPod(pod: Pod, how: 'delete' | 'succeed'): Promise<void>;
}

export function createScene(rigOf: () => LifecycleRig): Scene {
  let namespaces = 0;
  const newNamespace = async (): Promise<string> => {
    namespaces += 1;
    const name = `evictions-${namespaces}`;
    await rigOf().createNamespace(name);
    return name;
  };

  const createRequest = async (pod: Pod, requester?: string): Promise<LifecycleRequest> =>
    await rigOf().create(LIFECYCLE_REQUESTS, pod.metadata.namespace ?? '', requestBody(pod, requester));

  const withIntent = async (request: LifecycleRequest, intent: string): Promise<LifecycleRequest> =>
    await rigOf().patch(LIFECYCLE_REQUESTS, request, { spec: { intent } });

  const untilRequest = async (
    request: LifecycleRequest,
    wanted: Said,
    generation: number,
  ): Promise<LifecycleRequest> => {
    const what = `the request says ${wanted.join(', ')} of generation ${generation}`;
    return await rigOf().until<LifecycleRequest>(LIFECYCLE_REQUESTS, request, what, (each) => {
      return says(each, wanted) && each.status?.observedGeneration === generation;
    });
  };

  const untilEviction = async (
    {
      metadata: { name, namespace = '' },
    }: { readonly metadata: { readonly name: string; readonly namespace?: string } },
    what: string,
    wanted: (eviction: Eviction) => boolean,
    timeoutMs = 20_000,
  ): Promise<Eviction> =>
    await rigOf().until<Eviction>(EVICTIONS, { metadata: { name, namespace } }, what, wanted, timeoutMs);

  const stays: Scene['stays'] = async (resource, { metadata }, ms) => {
    await holdsFor({ ms, everyMs: LOOK_MS }, async () => {
      const now = await rigOf().get(resource, metadata.namespace ?? '', metadata.name);
      assert.equal(now?.metadata.resourceVersion, metadata.resourceVersion, JSON.stringify(now));
    });
  };

  const endPod = async (pod: Pod, how: 'delete' | 'succeed'): Promise<void> => {
    if (how === 'succeed') {
      await rigOf().patch(PODS, pod, { status: { phase: 'Succeeded' } }, 'status');
      return;
    }
    const { name, namespace = '' } = pod.metadata;
    await rigOf().controlPlane.kubectl(['delete', 'pod', name, '-n', namespace, '--wait=false']);
    await rigOf().patch(PODS, pod, { metadata: { finalizers: null } });
  };

  return { newNamespace, createRequest, withIntent, untilRequest, untilEviction, stays, endPod };
}
