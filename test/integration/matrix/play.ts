/** Plays one cell from its objects to what is left of them. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { isFinished } from '../../../src/decide/eviction/request.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { applyRequester, ask, budgetPods, isSaid, setUp, until, untilAsked, untilBlocked } from './asking.ts';
import { leftOvers } from './judge.ts';
import { budgetOf } from './objects.ts';
import { blockingIn, drainName, maintenancesIn, type Place, podsIn, requestsIn, stayingPods } from './place.ts';

const HOLD = 'hold.example.com/matrix';

/** What there is of the requests, for a person who looks for the cause of a failure. */
function stateOf(place: Place): string {
  const objects = [...podsIn(place), ...requestsIn(place)];
  return JSON.stringify(objects.map((each) => ({ ...each, metadata: { ...each.metadata, managedFields: undefined } })));
}

async function untilGivenBack(place: Place): Promise<void> {
  let left: readonly string[] = [];
  const isNothingLeft = (): boolean => {
    left = leftOvers(place);
    return left.length === 0;
  };
  await until('everything is given back', isNothingLeft).catch((error: unknown) => {
    throw new Error(`left behind: ${left.join('; ')}`, { cause: error });
  });
}

async function complete(place: Place, which: 'first' | 'second'): Promise<void> {
  if (which === 'first') place.calledOffAt = Date.now();
  const maintenance = { metadata: { name: drainName(place, which) } };
  await place.rig.patch(NODE_MAINTENANCES, maintenance, { spec: { stage: 'Complete' } });
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
  const isKept = cell.budget !== 'open' && (cell.sort === 'interceptor' || cell.sort === 'none');
  if (isKept) await untilBlocked(place);
  if (isKept && cell.budget === 'later') await rig.apply(budgetOf(id, true));
  if (isKept && cell.budget === 'closed') {
    for (const { metadata } of budgetPods(place)) {
      await rig.ask({ method: 'DELETE', path: objectPath(PODS, metadata) });
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

/** Takes back what `ask` has asked for. */
async function withdraw(place: Place): Promise<void> {
  place.calledOffAt = Date.now();
  const [pod] = podsIn(place);
  if (pod === undefined) throw new Error('the pod is gone');
  await applyRequester(place, pod, false);
  await until('the requests are over', () => requestsIn(place).every(isFinished));
  await untilGivenBack(place);
  place.quietAt = Date.now();
  keepStaying(place);
}

/** The request that the drain has made. */
async function requestOf(place: Place): Promise<EvictionRequest> {
  await until('there is a request', () => requestsIn(place).length > 0);
  const [found] = requestsIn(place);
  if (found === undefined) throw new Error('the request is gone');
  return found;
}

async function deleteRequest(place: Place): Promise<void> {
  const { metadata } = await requestOf(place);
  await place.rig.ask({ method: 'DELETE', path: objectPath(EVICTION_REQUESTS, metadata) });
  await finish(place, 'first');
}

/** Deletes the request while a finalizer of somebody else holds it: the drain says who holds it. */
async function holdRequest(place: Place): Promise<void> {
  const { rig } = place;
  const request = await requestOf(place);
  const path = objectPath(EVICTION_REQUESTS, request.metadata);
  await rig.patch(EVICTION_REQUESTS, request, { metadata: { finalizers: [HOLD] } });
  await rig.ask({ method: 'DELETE', path });
  await until('the status says that the request is held', () => isSaid(place, stayingPods(place), 'RequestHeld'));
  await rig.ask({ method: 'PATCH', path, body: { metadata: { finalizers: null } }, patch: { kind: 'merge' } });
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
