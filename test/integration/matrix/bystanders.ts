/** Everybody beside the product: kubelets, interceptors, controllers of pods, those who evict in the background. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../src/api/pod.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { objectPath, PODS } from '../../../src/kube/resource.ts';
import { isInBackground } from '../../../src/decide/eviction/imperative.ts';
import { nowText, reportProgress } from '../../chaos/stand-ins/report.ts';
import { IN_BACKGROUND, INTERCEPTOR } from './objects.ts';
import { isMarked, type Place, podsIn, requestsIn } from './place.ts';

const LOOK_MS = 100;
/** How long a pod takes to end. */
const ENDING_MS = 800;
/** How long a pod's controller, and who evicts it in the background, take: longer than the pauses of somebody who is impatient. */
const WORK_MS = 2_500;

/** Plays them all for the places, which become more, until the signal is aborted. */
export async function runBystanders(places: readonly Place[], signal: AbortSignal): Promise<void> {
  const since = new Map<string, number>();
  /** Whether it has been so for this time; by the name of what is so. */
  const isSo = (what: string, ms: number): boolean => {
    const begun = since.get(what) ?? Date.now();
    since.set(what, begun);
    return Date.now() - begun >= ms;
  };
  while (!signal.aborted) {
    await Promise.all(
      places.flatMap((place) => [...podsIn(place).map((pod) => runPod(place, pod, isSo)), intercept(place)]),
    );
    await sleep(LOOK_MS);
  }
}

type IsSo = (what: string, ms: number) => boolean;

async function send({ rig }: Place, request: KubeRequest): Promise<number> {
  return (await rig.ask(request)).status;
}

async function deletePod(place: Place, { metadata }: Pod, more: object): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid }, ...more };
  await send(place, { method: 'DELETE', path: objectPath(PODS, metadata), body });
}

async function patchPod(place: Place, { metadata }: Pod, body: object, subresource?: string): Promise<void> {
  const path = objectPath(PODS, metadata, subresource);
  await send(place, { method: 'PATCH', path, body, patch: { kind: 'strategic' } });
}

/** One step of the kubelet of a pod, its controller, and who evicts it in the background. */
async function runPod(place: Place, pod: Pod, isSo: IsSo): Promise<void> {
  const { name, uid = '', deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined) {
    if (isSo(`${uid} ends`, ENDING_MS)) await deletePod(place, pod, { gracePeriodSeconds: 0 });
    return;
  }
  if (pod.status?.phase === 'Pending' && pod.spec.nodeName !== undefined) {
    const conditions = [{ type: 'Ready', status: 'True' }];
    await patchPod(place, pod, { status: { phase: 'Running', conditions } }, 'status');
  }
  if (place.rig.webhook.asked.includes(name) && !isInBackground(pod)) {
    if (name.endsWith('-promise')) await patchPod(place, pod, { metadata: { annotations: IN_BACKGROUND } });
  }
  const isWorkedOn = isInBackground(pod) || isMarked(pod);
  if (isWorkedOn && isSo(`${uid} is worked on`, WORK_MS) && place.isReleased) await deletePod(place, pod, {});
}

/** Lets the interceptor of the cell complete its turn, when the pod is to leave. */
async function intercept(place: Place): Promise<void> {
  if (place.cell.sort !== 'interceptor' || !place.isReleased) return;
  for (const request of requestsIn(place)) {
    if (request.status?.activeInterceptors?.[0] !== INTERCEPTOR) continue;
    const world = { send: (wanted: KubeRequest) => send(place, wanted) };
    const now = nowText();
    await reportProgress(world, request, INTERCEPTOR, { message: 'done', heartbeatTime: now, completionTime: now });
  }
}
