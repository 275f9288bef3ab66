/** How a cell begins: its pods run, and are asked to leave. */
import type { Pod } from '../../../src/api/pod.ts';
import { requestersPatch } from '../../support/eviction/requesters.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';
import { isImmediate } from './cells.ts';
import { budgetOf, INTERCEPTOR, nodesOf, podFor } from './objects.ts';
import {
  blockingIn,
  drainName,
  isMarked,
  isOfBudget,
  type Place,
  podsIn,
  requestsIn,
  saidIn,
  stayingPods,
} from './place.ts';

const REQUESTER = 'requester.example.com';
/** Everything in a cell is so within this time: more than two hundred cells run side by side, on two processors. */
const STEP_MS = 150_000;

/** Waits until it is so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await waitFor(what, isSo, { timeoutMs: STEP_MS });
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/** Makes the objects of the cell, and waits until its pods run and are counted by their budget. */
export async function setUp(place: Place): Promise<void> {
  const { id, cell, rig } = place;
  await rig.apply(...nodesOf(id), budgetOf(id, cell.budget === 'open'));
  const hasPods = (): boolean => {
    const pods = podsIn(place);
    return pods.length === 1 && pods.every(isReady);
  };
  await rig.apply(podFor(id, cell));
  await until('the pods run', hasPods);
  place.node = podsIn(place)[0]?.spec.nodeName ?? '';
  const hasBudget = (): boolean =>
    rig.timeline
      .list('PodDisruptionBudget')
      .some(({ metadata, status }) => metadata.namespace === id && isCounted(status));
  await until('the budget has counted the pods', hasBudget);
}

function isCounted(status: object | undefined): boolean {
  return status !== undefined && 'currentHealthy' in status && status.currentHealthy === 1;
}

/** Begins a drain of the node, or asks for the pod as somebody else does. */
export async function ask(place: Place, which: 'first' | 'second'): Promise<void> {
  const { rig, cell } = place;
  if (cell.ending !== 'withdrawn') {
    await rig.apply(drainOf(drainName(place, which), [place.node], { reason: 'test' }));
    return;
  }
  const [pod] = podsIn(place);
  if (pod === undefined) throw new Error('the cell has no pod');
  await applyRequester(place, pod, true);
}

/** Writes the entry of the requester who is no drain, or takes it back. */
export async function applyRequester({ rig }: Place, { metadata }: Pod, isWanted: boolean): Promise<void> {
  const { name, namespace = '', uid = '' } = metadata;
  await rig.send(requestersPatch({ name, namespace, uid }, REQUESTER, isWanted ? [REQUESTER] : []));
}

/** Whether the interceptor has its turn. */
function hasTurn(place: Place): boolean {
  return requestsIn(place).some(({ status }) => status?.activeInterceptors?.[0] === INTERCEPTOR);
}

/** Whether the status of the drain names each of these pods with the reason; where somebody else asks, the request does. */
export function isSaid(place: Place, pods: readonly Pod[], reason: string): boolean {
  if (place.cell.ending === 'withdrawn') return reason !== 'PodDisruptionBudget' || saidIn(place).includes(reason);
  const named = blockingIn(place).filter((each) => each.reason === reason);
  return pods.every((pod) => named.some(({ name }) => name === pod.metadata.name));
}

/** The pods that wait for their budget alone. */
export function budgetPods(place: Place): readonly Pod[] {
  return stayingPods(place).filter((pod) => isOfBudget(pod));
}

/** Waits until the status says why they wait. */
export async function untilBlocked(place: Place): Promise<void> {
  await until('the status says that a PodDisruptionBudget blocks', () =>
    isSaid(place, budgetPods(place), 'PodDisruptionBudget'),
  );
}

async function untilOthersWork(place: Place): Promise<void> {
  const takenOver = podsIn(place).find(({ metadata }) => metadata.name.endsWith('-takeover'));
  const wasMarked = (): boolean => place.record.changes.some(({ kind, object }) => kind === 'Pod' && isMarked(object));
  if (takenOver !== undefined) await until('the pod is marked for its controller', wasMarked);
  const isLeft = (): boolean => saidIn(place).includes('is left to its controller');
  if (takenOver !== undefined) await until('the request says who is waited for', isLeft);
  const promised = podsIn(place).find(({ metadata }) => metadata.name.endsWith('-promise'));
  const isPromised = (): boolean => place.rig.webhook.asked.includes(promised?.metadata.name ?? '');
  if (promised !== undefined) await until('the eviction in the background is promised', isPromised);
}

/** Waits until the pods of the cell are where something can happen to them, and the status says what is waited for. */
export async function untilAsked(place: Place): Promise<void> {
  const { cell } = place;
  if (cell.sort === 'interceptor') {
    await until('the interceptor has its turn', () => hasTurn(place));
    await until('the status names the interceptor', () => isSaid(place, stayingPods(place), 'Interceptor'));
    return;
  }
  await untilOthersWork(place);
  if (cell.sort === 'takeover' || cell.sort === 'promise') return;
  if (isImmediate(cell)) await until('the pods are told to end', () => budgetPods(place).length === 0);
  else await untilBlocked(place);
}
