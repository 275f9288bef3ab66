import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { type Program } from '../../control-plane/process.ts';
import { createActor, hasEnded } from '../../support/eviction/actors.ts';
import { type ApiProxy, type ProxiedRequest, startApiProxy, type Verdict } from '../../support/stand-ins/api-proxy.ts';
import { buildEvictionRig, type EvictionRig, intercepts, NODE, type Running } from '../../support/rigs/eviction.ts';
import { startNodemaint } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const FOREIGN = 'foreign.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const REQUESTER = 'test.example.com';
const EVICTION = 'POST pods/eviction';
const STEP_MS = 20_000;
/** How long the pod lives on after a controller has seen it terminating: long enough to evict it once more. */
const TERMINATION_MS = 400;
/** How far a watch lags behind. */
const WATCH_LAG_MS = 1_000;

/** Where the controller is killed; at the last one the pod also ends while no controller runs. */
type Point = 'before' | 'after' | 'after, and the pod ends meanwhile';

/** What becomes of one call of the controller. */
interface Blow {
  readonly call: string;
  readonly point: Point | 'answer lost';
}

/** One eviction: the object at its end, and the writes of the controller in their order, each once. */
interface Outcome {
  readonly end: object;
  readonly calls: readonly string[];
  readonly evictions: number;
}

/** What of a body tells one write from others of its kind. */
interface Body {
  readonly status?: EvictionRequest['status'];
  readonly reason?: string;
  readonly message?: string;
}

/**
 * A write by its verb, resource, field manager and meaning, without the names of objects. Writes that are the same in all
 * of this are one call that is repeated, which depends on how soon the controller hears of its own writes.
 */
function callOf({ method, path: target, body }: ProxiedRequest): string {
  const url = new URL(target, 'https://server');
  const [plural = '', , subresource] = url.pathname.replace(/^.*\/namespaces\/[^/]+\//u, '').split('/');
  const call = `${method} ${plural}${subresource === undefined ? '' : `/${subresource}`}`;
  const manager = url.searchParams.get('fieldManager');
  if (manager !== null) return `${call} by ${manager}`;
  const { status, reason, message } = JSON.parse(body) as Body;
  if (plural === 'events') return `${call} (${reason}: ${message?.replace(/Pod p-\d+/u, 'Pod')})`;
  if (status === undefined) return call;
  const active = status.activeInterceptors === undefined ? 'as before' : (status.activeInterceptors[0] ?? 'nobody');
  return `${call} (active: ${active})`;
}

/** What has to be the same at the end, however often a controller died on the way. */
function endOf({ metadata, status }: EvictionRequest): object {
  const { observedGeneration, targetInterceptors, activeInterceptors, processedInterceptors } = status ?? {};
  return {
    conditions: (status?.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is} ${reason}`).toSorted(),
    observed: observedGeneration === metadata.generation,
    targetInterceptors: targetInterceptors?.map(({ name }) => name),
    activeInterceptors,
    processedInterceptors,
    interceptors: status?.interceptors?.map(({ name }) => name),
    labels: Object.keys(metadata.labels ?? {}).toSorted(),
    node: metadata.labels?.['nodemaintenance.x-k8s.io/node'],
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function expectedEnd(interceptors: readonly string[]): object {
  return {
    conditions: ['Evicted=True PodDeleted', 'Progressing=False PodDeleted'],
    observed: true,
    targetInterceptors: interceptors,
    activeInterceptors: [],
    processedInterceptors: interceptors,
    interceptors,
    labels: ['app', 'nodemaintenance.x-k8s.io/node'],
    node: NODE,
  };
}

describe('the crash of a controller', () => {
  const never = new AbortController().signal;
  let rig: EvictionRig;
  let proxy: ApiProxy;
  let foreign: Running;
  let controller: Program | undefined;
  /** How many requests the proxy had seen when the controller was started. */
  let startedAt = 0;
  let pods = 0;

  before(async () => {
    rig = await buildEvictionRig();
    proxy = await startApiProxy(rig.controlPlane, rig.controllerKubeconfig);
    const actor = createActor(FOREIGN);
    actor.turn = { kind: 'completed', message: 'Declined.' };
    foreign = await rig.startInterceptor(actor);
  });
  after(async () => {
    await controller?.stop(0);
    await foreign.stop();
    await proxy[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  const startController = (): void => {
    startedAt = proxy.requests.length;
    const log = path.join(rig.folder, 'controller.log');
    // The next one is to go on at once, and not when the Lease of the dead one has expired.
    controller = startNodemaint(['controller', '--kubeconfig', proxy.kubeconfig, '--leader-elect=false'], log);
  };

  /** Whether the controller that was started last watches what an eviction is about. */
  const isUp = (): boolean => {
    if (controller === undefined) return false;
    const watched = proxy.requests.slice(startedAt).filter(({ path: target }) => target.includes('watch=1'));
    return ['/pods?', '/evictionrequests?'].every((part) => watched.some(({ path: target }) => target.includes(part)));
  };

  const until = async (what: string, ask: () => Promise<boolean> | boolean): Promise<void> => {
    await waitFor(what, ask, { timeoutMs: STEP_MS }).catch(async (error: unknown) => {
      throw new Error(`${what}\n${await controller?.tail()}`, { cause: error });
    });
  };

  /** Ends the pod some time after its deletion, but, unless `blind`, not before a controller has seen it terminating. */
  const playKubelet = async (pod: Pod, isBlind: () => boolean): Promise<void> => {
    const { name } = pod.metadata;
    await until(`${name} is deleted`, async () => (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined);
    if (!isBlind()) {
      await pause(TERMINATION_MS);
      if (!isUp()) {
        await until('another controller sees the pod terminating', isUp);
        await pause(TERMINATION_MS);
      }
    }
    await rig.endPod(name);
  };

  /** Carries out one eviction, with one blow on the way where one is given. */
  const evictOne = async (annotations: Readonly<Record<string, string>>, blow: Blow | undefined): Promise<Outcome> => {
    pods += 1;
    const pod = await rig.createPod(`p-${pods}`, annotations);
    const { name, uid = '' } = pod.metadata;
    const from = proxy.requests.length;
    const isOurs = ({ method, path: target, body }: ProxiedRequest): boolean =>
      method !== 'GET' && (target.includes(uid) || target.includes(`/pods/${name}/`) || body.includes(uid));
    let struck = false;
    let lag = Promise.resolve();
    const isMeant = (request: ProxiedRequest): boolean => !struck && isOurs(request) && callOf(request) === blow?.call;
    const strike = (): Verdict => {
      struck = true;
      if (blow?.point === 'answer lost') return 'reset';
      controller?.kill('SIGKILL');
      controller = undefined;
      return 'hold';
    };
    proxy.hooks = {
      before: (_, request) => {
        if (!isMeant(request)) return 'pass';
        if (blow?.point === 'before') return strike();
        // So that its copy of the pod does not tell it what the answer would have.
        if (blow?.point === 'answer lost') lag = proxy.delayWatches('/pods?', WATCH_LAG_MS);
        return 'pass';
      },
      after: (_, request) => (isMeant(request) ? strike() : 'pass'),
    };
    if (!isUp()) await until('the controller is up', isUp);

    const isBlind = (): boolean => blow?.point === 'after, and the pod ends meanwhile';
    const kubelet = playKubelet(pod, isBlind);
    // Whatever fails first is what the test reports.
    kubelet.catch(() => undefined);
    await rig.request(pod, REQUESTER);
    if (blow !== undefined) {
      await until(`the controller makes its call ${blow.call}`, () => struck);
      if (isBlind()) await kubelet;
      if (controller === undefined) startController();
    }
    const request = await rig.waitFor(pod, 'evicted', hasEnded('Evicted'), STEP_MS);
    assert.equal(await rig.getPod(name), undefined, 'a pod that is Evicted is gone');
    await kubelet;
    // The event about the end comes after the end.
    if (blow === undefined) await pause(TERMINATION_MS);
    proxy.hooks = {};
    await lag;
    const writes = proxy.requests.slice(from).filter(isOurs);
    const evictions = writes.filter((each) => callOf(each) === EVICTION && String(each.status).startsWith('2'));
    const calls = [...new Set(writes.map(callOf))];
    const outcome = { end: endOf(request), calls, evictions: evictions.length };
    await rig.client.send({ method: 'DELETE', path: objectPath(EVICTION_REQUESTS, request.metadata) }, never);
    return outcome;
  };

  /** Learns the calls of one eviction, then strikes at each of them in turn. */
  const proveAll = async (
    context: TestContext,
    annotations: Readonly<Record<string, string>>,
    interceptors: readonly string[],
    points: (isEvicted: boolean) => readonly Blow['point'][],
  ): Promise<void> => {
    if (controller === undefined) startController();
    const whole = await evictOne(annotations, undefined);
    for (const call of whole.calls) context.diagnostic(call);
    assert.deepEqual(whole.end, expectedEnd(interceptors));
    assert.equal(whole.evictions, 1);
    let cases = 0;
    for (const [index, call] of whole.calls.entries()) {
      // An Event is written beside the eviction: the next time it may come before it.
      const isAfter = index >= whole.calls.indexOf(EVICTION) && !call.startsWith('POST events');
      for (const point of points(isAfter)) {
        const { end, evictions } = await evictOne(annotations, { call, point }).catch((error: unknown) => {
          throw new Error(`${point}: ${call}`, { cause: error });
        });
        assert.deepEqual(end, whole.end, `the end state, ${point}: ${call}`);
        assert.equal(evictions, 1, `accepted evictions, ${point}: ${call}`);
        cases += 1;
      }
    }
    context.diagnostic(`${cases} cases`);
  };

  const killed = (isEvicted: boolean): readonly Point[] =>
    isEvicted ? ['before', 'after', 'after, and the pod ends meanwhile'] : ['before', 'after'];

  it('a kill -9 of the controller at every API call of one eviction, in turn, ends in the same state without a second eviction', async (context) => {
    await proveAll(context, {}, [IMPERATIVE], killed);
  });

  it('a kill -9 at every API call of an eviction with another interceptor before it ends in the same state without a second eviction', async (context) => {
    await proveAll(context, intercepts(FOREIGN, 10_000), [FOREIGN, IMPERATIVE], killed);
  });

  it('the loss of the answer to any API call, while the watch on pods lags, ends in the same state without a second eviction', async (context) => {
    await proveAll(context, intercepts(FOREIGN, 10_000), [FOREIGN, IMPERATIVE], () => ['answer lost']);
  });

  it('a watch on pods that lags behind the watch on requests does not make a living pod count as evicted', async () => {
    if (controller === undefined) startController();
    await until('the controller is up', isUp);
    const lag = proxy.delayWatches('/pods?', WATCH_LAG_MS);
    const { end, evictions } = await evictOne({}, undefined);
    assert.deepEqual(end, expectedEnd([IMPERATIVE]));
    assert.equal(evictions, 1);
    await lag;
  });
});
