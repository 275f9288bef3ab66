import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import type { Arguments, Past, StepKinds } from '../history.ts';
import { FOREIGN_FINALIZER } from '../objects.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';
import { podOf } from './pods.ts';
import { requestersPatch } from '../../support/eviction/requesters.ts';

const REQUESTER = 'descheduler.chaos.example';
/** Static and DaemonSet pods have no number: a step may take the first of them instead. */
const OTHERS = ['DaemonSet', 'static'] as const;

const drawTarget = (random: Random, past: Past): Arguments => ({
  target: random.whole(3) === 0 ? random.pick(OTHERS) : `p${random.pick(past.pods)}`,
});

function targetOf(world: World, step: Arguments): { name: string; namespace: string; uid: string } | undefined {
  const target = String(step['target']);
  const meta = target.startsWith('p')
    ? podOf(world, { pod: target.slice(1) })
    : world.pods().find(({ metadata }) => metadata.name.startsWith(target === 'static' ? 's' : 'd'))?.metadata;
  return meta === undefined ? undefined : { name: meta.name, namespace: meta.namespace ?? '', uid: meta.uid ?? '' };
}

function requestOf(world: World, step: Arguments): EvictionRequest | undefined {
  const uid = targetOf(world, step)?.uid;
  return world.requests().find(({ metadata }) => metadata.name === uid);
}

/** Adds entries of one manager by server-side apply, or takes them back where there are none. */
async function applyRequesters(world: World, step: Arguments, names: readonly string[]): Promise<string> {
  const target = targetOf(world, step);
  if (target === undefined) return 'no such pod';
  if (names.length === 0 && requestOf(world, step) === undefined) return 'no such request';
  return String(await world.send(requestersPatch(target, REQUESTER, names)));
}

/** Completes the entry of the active interceptor, as one that lies, or that was away for 20 minutes, does. */
async function passOver(world: World, step: Arguments): Promise<string> {
  const request = requestOf(world, step);
  const active = request?.status?.activeInterceptors?.[0];
  if (request === undefined || active === undefined) return 'nobody is active';
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const old = request.status?.interceptors?.find(({ name }) => name === active);
  const times = { startTime: old?.startTime ?? now, heartbeatTime: old?.heartbeatTime ?? now, completionTime: now };
  const body = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: request.metadata.name, namespace: request.metadata.namespace },
    status: { interceptors: [{ name: active, message: 'done', ...times }] },
  };
  const path = objectPath(EVICTION_REQUESTS, request.metadata, 'status');
  return `${active} ${await world.send({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: active } })}`;
}

/** What requesters and interceptors of others do. */
export const REQUEST_STEPS: StepKinds = {
  'request eviction': {
    weight: 4,
    draw: drawTarget,
    perform: (world, step) => applyRequesters(world, step, [REQUESTER]),
  },
  'withdraw request': { weight: 3, draw: drawTarget, perform: (world, step) => applyRequesters(world, step, []) },
  'crowd request': {
    weight: 1,
    draw: drawTarget,
    perform: (world, step) => {
      const names = Array.from({ length: 100 }, (_, index) => `r${index}.chaos.example`);
      return applyRequesters(world, step, names);
    },
  },
  'delete request': {
    weight: 2,
    draw: drawTarget,
    perform: async (world, step) => {
      const request = requestOf(world, step);
      if (request === undefined) return 'no such request';
      return String(await world.send({ method: 'DELETE', path: objectPath(EVICTION_REQUESTS, request.metadata) }));
    },
  },
  'hold request by finalizer': {
    weight: 1,
    draw: drawTarget,
    perform: async (world, step) => {
      const request = requestOf(world, step);
      if (request === undefined) return 'no such request';
      const path = objectPath(EVICTION_REQUESTS, request.metadata);
      const body = { metadata: { finalizers: [FOREIGN_FINALIZER] } };
      return String(await world.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } }));
    },
  },
  'pass over interceptor': { weight: 2, draw: drawTarget, perform: passOver },
};
