import { setTimeout as sleep } from 'node:timers/promises';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { objectPath, PODS } from '../../../src/kube/resource.ts';
import { ACTOR } from '../objects.ts';
import type { ClusterPart } from '../world.ts';
import { nowText, reportProgress } from './report.ts';

const LOOK_MS = 150;
/** One that lies has its heart beat in the future. */
const LIE_MS = 30 * 24 * 3_600_000;

async function act(world: ClusterPart, request: EvictionRequest): Promise<void> {
  const entry = request.status?.interceptors?.find(({ name }) => name === ACTOR);
  if (entry?.completionTime !== undefined) return;
  switch (world.interceptors) {
    case 'silent':
      return;
    case 'beats':
      await reportProgress(world, request, ACTOR, { message: `At work at ${nowText()}.`, heartbeatTime: nowText() });
      return;
    case 'lies': {
      const heartbeatTime = nowText(LIE_MS);
      const message = `Soon. ${'So it is. '.repeat(1_000)}`;
      await reportProgress(world, request, ACTOR, {
        message,
        heartbeatTime,
        expectedFinishTime: '9999-12-31T23:59:59Z',
      });
      return;
    }
    case 'declines':
      await reportProgress(world, request, ACTOR, { message: 'Not mine.', completionTime: nowText() });
      return;
    case 'works': {
      if (entry?.startTime === undefined) await reportProgress(world, request, ACTOR, { message: 'At work.' });
      const { name, uid } = request.spec.target.pod;
      const path = objectPath(PODS, { name, namespace: request.metadata.namespace ?? '' });
      await world.send({ method: 'DELETE', path, body: { preconditions: { uid } } });
    }
  }
}

/** Does for each request what the interceptor of the history's pods does at its turn. */
export async function actOnRequests(world: ClusterPart): Promise<void> {
  const active = world.requests().filter(({ status }) => status?.activeInterceptors?.[0] === ACTOR);
  await Promise.all(active.map((request) => act(world, request)));
}

/** Plays the interceptor until the signal is aborted. */
export async function runInterceptors(world: ClusterPart, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await actOnRequests(world);
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
