import {
  COMPLETION_FINALIZER,
  CORDONED_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  HELD_FOR_LABEL,
  INTERCEPTOR_DEADLINE_ANNOTATION,
  MAINTENANCE_GATE,
  MAINTENANCE_REQUESTER,
} from '../../../src/api/names.ts';
import { isFinished, isMadeByDrain } from '../../../src/decide/eviction/request.ts';
import { isInProgress, selectsNode } from '../../../src/decide/maintenance/maintenance.ts';
import { targetNodeOf } from '../../../src/decide/pod.ts';
import { REFUSED_LABEL } from '../objects.ts';
import type { ClusterPart } from '../world.ts';
import { isCovered, isToCome, type Moment } from './coverage.ts';
import { OUR_CONDITIONS } from './foreign.ts';
import type { Violation } from './violation.ts';

function given(what: string, detail: string): Violation {
  return { invariant: 'given-back', what, detail };
}

/** What is looked at. */
export type Present = Pick<ClusterPart, 'nodes' | 'pods' | 'maintenances' | 'requests'>;

function checkNodes(world: Present, { nodes, maintenances }: Moment): Violation[] {
  const free = nodes.filter((node) => {
    const isRefused = node.metadata.labels?.[REFUSED_LABEL] !== undefined;
    return !isRefused && !maintenances.some((each) => isInProgress(each) && selectsNode(each, node));
  });
  return free.flatMap((node) => {
    const { name, annotations } = node.metadata;
    const found: Violation[] = [];
    if (annotations?.[CORDONED_ANNOTATION] !== undefined)
      found.push(given('a node keeps the cordon of no maintenance', name));
    const conditions = node.status?.conditions ?? [];
    const isPlanned = maintenances.some((each) => isToCome(each) && selectsNode(each, node));
    const left = conditions.filter(
      ({ type, status, reason }) =>
        OUR_CONDITIONS.includes(type) &&
        status === 'True' &&
        reason !== 'Foreign' &&
        !(isPlanned && type === 'MaintenancePlanned'),
    );
    for (const { type } of left) found.push(given(`a node keeps the condition ${type} of no maintenance`, name));
    const gated = world.pods().filter((pod) => targetNodeOf(pod) === name);
    for (const pod of gated.filter(({ spec }) =>
      spec.schedulingGates?.some((gate) => gate.name === MAINTENANCE_GATE),
    )) {
      found.push(given('a DaemonSet pod keeps the gate of no maintenance', pod.metadata.name));
    }
    return found;
  });
}

/** Looks for what is kept that no maintenance needs at the moment. */
export function checkGivenBack(world: Present): Violation[] {
  const moment = { nodes: world.nodes(), pods: world.pods(), maintenances: world.maintenances() };
  const found = checkNodes(world, moment);
  for (const request of world.requests()) {
    const isAsked = request.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true;
    const pod = moment.pods.find(({ metadata }) => metadata.uid === request.metadata.name);
    if (!isAsked || isFinished(request) || pod === undefined || isCovered(moment, pod)) continue;
    found.push(given('a request keeps our requester and no drain covers its pod', pod.metadata.name));
  }
  return found;
}

/** Looks for what is left of the product when all maintenances are over. */
export function checkLeftOvers(world: Present, cordonedByPerson: boolean): Violation[] {
  const found = checkGivenBack(world);
  for (const { metadata, spec } of world.nodes()) {
    if (spec?.unschedulable === true && !cordonedByPerson)
      found.push(given('a node stays unschedulable', metadata.name));
  }
  for (const { metadata } of world.pods()) {
    if (metadata.labels?.[HELD_FOR_LABEL] !== undefined && metadata.deletionTimestamp === undefined) {
      found.push(given('a pod keeps the label of a gated pod', metadata.name));
    }
    if (metadata.annotations?.[EVICT_WANTED_ANNOTATION] !== undefined) {
      found.push(given('a pod keeps the mark of a wanted eviction', metadata.name));
    }
  }
  for (const request of world.requests()) {
    const { metadata, spec } = request;
    const { length } = spec.requesters ?? [];
    // One of a person that is canceled is kept for an hour.
    const isKept = isFinished(request) && !isMadeByDrain(request);
    if (length === 0 && metadata.deletionTimestamp === undefined && !isKept)
      found.push(given('a request without requesters is left', metadata.name));
    if (metadata.annotations?.[INTERCEPTOR_DEADLINE_ANNOTATION] !== undefined) {
      found.push(given('a request keeps a deadline', metadata.name));
    }
    if (spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true) {
      const what = `a request${isFinished(request) ? ' that is over' : ''} keeps our requester`;
      found.push(given(what, JSON.stringify(request)));
    }
  }
  for (const { metadata, status } of world.maintenances()) {
    if (metadata.finalizers?.includes(COMPLETION_FINALIZER) === true) {
      found.push(given('a completed maintenance keeps its finalizer', metadata.name));
    } else if ((status?.summary?.podsEvacuating ?? 0) > 0) {
      found.push({
        invariant: 'status',
        what: 'a completed maintenance counts evacuating pods',
        detail: metadata.name,
      });
    }
  }
  return found;
}
