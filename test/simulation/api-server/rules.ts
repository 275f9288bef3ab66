/** The rules of the CRDs and of built-in kinds that histories can break; the rest of their validation is not modelled. */
import { isDeepStrictEqual } from 'node:util';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance, Stage } from '../../../src/api/node-maintenance.ts';
import type { Node, NodeCondition } from '../../../src/api/pod.ts';
import type { ModelKind } from './kinds.ts';

const LATER: Readonly<Record<Stage, readonly Stage[]>> = {
  Idle: ['Cordon', 'Drain', 'Complete'],
  Cordon: ['Drain', 'Complete'],
  Drain: ['Complete'],
  Complete: [],
};

/** Why a NodeMaintenance may not become so; undefined where it may. */
function maintenanceProblem(old: NodeMaintenance, { spec }: NodeMaintenance): string | undefined {
  const [from, to] = [old.spec.stage ?? 'Idle', spec.stage ?? 'Idle'];
  if (from !== to && !LATER[from].includes(to)) return `stage may not change from ${from} to ${to}`;
  if (!isDeepStrictEqual(old.spec.nodeSelector, spec.nodeSelector)) return 'nodeSelector is immutable';
  return isDeepStrictEqual(old.spec.drainPlan, spec.drainPlan) ? undefined : 'drainPlan is immutable';
}

function requestProblem(old: EvictionRequest | undefined, { metadata, spec }: EvictionRequest): string | undefined {
  if (metadata.name !== spec.target.pod.uid) return 'metadata.name must be the UID of the target';
  if ((spec.requesters ?? []).length > 100) return 'there are at most 100 requesters';
  if (old === undefined && (spec.requesters ?? []).length === 0) return 'at least one requester is required';
  return old === undefined || isDeepStrictEqual(old.spec.target, spec.target) ? undefined : 'target is immutable';
}

function addsFinalizer(old: KubeObject, fresh: KubeObject): boolean {
  return (fresh.metadata.finalizers ?? []).some((each) => old.metadata.finalizers?.includes(each) !== true);
}

/** Why an object may not be stored so (HTTP 422); undefined where it may. */
export function problemOf(kind: ModelKind, old: KubeObject | undefined, fresh: KubeObject): string | undefined {
  if (old?.metadata.deletionTimestamp !== undefined && addsFinalizer(old, fresh)) {
    return 'no new finalizers can be added if the object is being deleted';
  }
  if (kind === 'EvictionRequest') return requestProblem(old as EvictionRequest | undefined, fresh as EvictionRequest);
  if (kind !== 'NodeMaintenance' || old === undefined) return undefined;
  return maintenanceProblem(old as NodeMaintenance, fresh as NodeMaintenance);
}

/** The texts that a built-in type leaves out where they are empty. */
function withoutEmptyTexts({ reason, message, ...condition }: NodeCondition): NodeCondition {
  return {
    ...condition,
    ...(reason === undefined || reason === '' ? {} : { reason }),
    ...(message === undefined || message === '' ? {} : { message }),
  };
}

/** What the status of a built-in object says before anybody has written it. */
const FIRST_STATUS: Partial<Readonly<Record<ModelKind, object>>> = {
  Pod: { phase: 'Pending' },
  PodDisruptionBudget: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
};

/** The object with what the API server adds and takes away by itself. */
export function defaulted(kind: ModelKind, object: KubeObject): KubeObject {
  if (kind === 'NodeMaintenance') {
    const { spec } = object as NodeMaintenance;
    return { ...object, spec: { ...spec, stage: spec.stage ?? 'Idle' } } as KubeObject;
  }
  const first = FIRST_STATUS[kind];
  if (first !== undefined)
    return { ...object, status: { ...first, ...(object as { status?: object }).status } } as KubeObject;
  if (kind === 'Node') {
    const { spec, status } = object as Node;
    const { unschedulable, ...others } = spec ?? {};
    const conditions = status?.conditions?.map(withoutEmptyTexts);
    return {
      ...object,
      spec: { ...others, ...(unschedulable === true ? { unschedulable } : {}) },
      ...(conditions === undefined ? {} : { status: { ...status, conditions } }),
    } as KubeObject;
  }
  return object;
}
