/** Plays one cell from its objects to what is left of them. */
import type { KubeObject } from '../../../src/api/meta.ts';
import { isFinished } from '../../../src/decide/eviction/request.ts';
import { LIFECYCLE_REQUESTS } from '../../../src/kube/lifecycle/resources.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, objectPath, PODS, type Resource } from '../../../src/kube/resource.ts';
import { said } from '../../support/rigs/lifecycle.ts';
import { applyRequester, ask, budgetPods, isSaid, setUp, until, untilAsked, untilBlocked } from './asking.ts';
import { leftOvers } from './judge.ts';
import { budgetOf } from './objects.ts';
import {
  blockingIn,
  drainName,
  evictionsIn,
  maintenancesIn,
  newerRequestsIn,
  type Place,
  podsIn,
  requestsIn,
  stayingPods,
} from './place.ts';

const HOLD = 'hold.example.com/matrix';

/** What there is of the requests, for a person who looks for the cause of a failure. */
function stateOf(place: Place): string {
  const objects = [...podsIn(place), ...requestsIn(place), ...newerRequestsIn(place), ...evictionsIn(place)];
  return JSON.stringify(objects.map((each) => ({ ...each, metadata: { ...each.metadata, managedFields: undefined } })));
}

async function untilGivenBack(place: Place): Promise<void> {
  let left: readonly string[] = [];
  const isNothingLeft = async (): Promise<boolean> => {
    left = await leftOvers(place);
    return left.length === 0;
  };
  await until('everything is given back', isNothingLeft).catch((error: unknown) => {
    throw new Error(`left behind: ${left.join('; ')}`, { cause: error });
  });
}

async function complete(place: Place, which: 'first' | 'second'): Promise<void> {
  if (which === 'first') place.calledOffAt = Date.now();
  const maintenance = { metadata: { name: drainName(place, which) } };
  await place.rig.lifecycle.patch(NODE_MAINTENANCES, maintenance, { spec: { stage: 'Complete' } });
  const isCompleted = (): boolean =>
    maintenancesIn(place).every(({ spec, status }) => {
      return spec.stage === 'Complete' && status?.stageStatuses?.some(({ name }) => name === 'Complete') === true;
    });
  await until('the maintenance is complete', isCompleted);
  await untilGivenBack(place);
  place.quietAt = Date.now();
}

/** Lets the pods go, and the budget where it is to; waits until the node is drained, and everything given back. */
async function finish(place: Place, which: 'first' | 'second'): Promise<void> {
  const { cell, rig, id } = place;
  place.isReleased = true;
  const isKept = cell.budget !== 'open' && ['interceptor', 'none', 'single', 'all'].includes(cell.sort);
  if (isKept) await untilBlocked(place);
  if (isKept && cell.budget === 'later') await rig.apply(budgetOf(id, true));
  if (isKept && cell.budget === 'closed') {
    for (const { metadata } of budgetPods(place)) {
      await rig.lifecycle.ask({ method: 'DELETE', path: objectPath(PODS, metadata) });
    }
  }
  const isDrained = (): boolean =>
    maintenancesIn(place).some(({ metadata, status }) => {
      if (metadata.name !== drainName(place, which)) return false;
      return status?.conditions?.some(({ type, status: is }) => type === 'Drained' && is === 'True') === true;
    });
  await until('the node is drained', isDrained).catch((error: unknown) => {
    throw new Error(`not drained, and the status says ${JSON.stringify(blockingIn(place))}; ${stateOf(place)}`, {
      cause: error,
    });
  });
  await complete(place, which);
}

function keepStaying(place: Place): void {
  for (const { metadata } of stayingPods(place)) place.staying.add(metadata.uid ?? '');
}

/** Takes back what `ask` has asked for; what is there of the newer dialect is known a moment later. */
async function withdrawRequest(place: Place): Promise<void> {
  const [resource, request] = await requestOf(place);
  if (resource === LIFECYCLE_REQUESTS) {
    await place.rig.lifecycle.patch(LIFECYCLE_REQUESTS, request, { spec: { intent: 'Withdrawn' } });
    return;
  }
  const [pod] = podsIn(place);
  if (pod === undefined) throw new Error('the pod is gone');
  await applyRequester(place, pod, false);
}

async function withdraw(place: Place): Promise<void> {
  place.calledOffAt = Date.now();
  await withdrawRequest(place);
  const isOver = (): boolean =>
    requestsIn(place).every(isFinished) && evictionsIn(place).every((each) => said(each, 'Failed').startsWith('True'));
  await until('the requests are over', isOver);
  await untilGivenBack(place);
  place.quietAt = Date.now();
  keepStaying(place);
}

/** The request that the drain has made, and its resource. */
async function requestOf(place: Place): Promise<readonly [Resource, KubeObject]> {
  const find = (): readonly [Resource, KubeObject] | undefined => {
    const [older] = requestsIn(place);
    const [newer] = newerRequestsIn(place);
    if (newer !== undefined) return [LIFECYCLE_REQUESTS, newer];
    return older === undefined ? undefined : [EVICTION_REQUESTS, older];
  };
  await until('there is a request', () => find() !== undefined);
  const found = find();
  if (found === undefined) throw new Error('the request is gone');
  return found;
}

async function deleteRequest(place: Place): Promise<void> {
  const [resource, { metadata }] = await requestOf(place);
  await place.rig.lifecycle.ask({ method: 'DELETE', path: objectPath(resource, metadata) });
  await finish(place, 'first');
}

/** Deletes the request while a finalizer of somebody else holds it: the drain goes on in the older dialect, or says who holds it. */
async function holdRequest(place: Place): Promise<void> {
  const { lifecycle } = place.rig;
  const [resource, request] = await requestOf(place);
  await lifecycle.patch(resource, request, { metadata: { finalizers: [HOLD] } });
  await lifecycle.ask({ method: 'DELETE', path: objectPath(resource, request.metadata) });
  const letGo = async (): Promise<void> => {
    await lifecycle.ask({
      method: 'PATCH',
      path: objectPath(resource, request.metadata),
      body: { metadata: { finalizers: null } },
      patch: { kind: 'merge' },
    });
  };
  if (resource === EVICTION_REQUESTS) {
    await until('the status says that the request is held', () => isSaid(place, stayingPods(place), 'RequestHeld'));
    await letGo();
    await finish(place, 'first');
    return;
  }
  place.isReleased = true;
  const hasLeft = (): boolean => podsIn(place).length === 0;
  if (place.cell.budget === 'open') await until('the pod has left although its request is held', hasLeft);
  else await until('the drain goes on in the older dialect', () => requestsIn(place).length > 0 || hasLeft());
  await letGo();
  await finish(place, 'first');
}

/** What the endings need of the other cells. */
export interface Company {
  /** Waits until another controller leads, which is so when every cell that waits for that is here. */
  untilLeaderChanged(): Promise<void>;
}

/** Plays the cell. Rejects with what is wrong. */
export async function play(place: Place, company: Company): Promise<void> {
  await setUp(place);
  await ask(place, 'first');
  await untilAsked(place);
  switch (place.cell.ending) {
    case 'completed':
      return await finish(place, 'first');
    case 'canceled':
      await complete(place, 'first');
      keepStaying(place);
      if (place.cell.budget === 'later') await place.rig.apply(budgetOf(place.id, true));
      return;
    case 'withdrawn':
      return await withdraw(place);
    case 'deleted':
      return await deleteRequest(place);
    case 'held':
      return await holdRequest(place);
    case 'leader':
      await company.untilLeaderChanged();
      return await finish(place, 'first');
    case 'second':
      await complete(place, 'first');
      place.askedAgainAt = Date.now();
      await ask(place, 'second');
      return await finish(place, 'second');
  }
}
