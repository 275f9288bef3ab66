import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION, NODE_LABEL } from '../../../src/api/names.ts';
import type { KubeClient, KubeResponse, Patch } from '../../../src/kube/client.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  conditionWith,
  create,
  firstStatus,
  MAY_REPORT,
  patchStatus,
  pathOf,
  read,
  report,
  requestFor,
  type Rule,
  send,
  started,
} from '../../support/rigs/admission.ts';

const OWN = 'mallory.example.com';
const LAST = 'imperative-eviction.k8s.io';
const KUBELET = 'kubelet.k8s.io';
const NAMES = [OWN, 'b.example.com', LAST];
const BEAT = '2026-01-01T10:00:00Z';
const WORKING = { name: OWN, startTime: BEAT, heartbeatTime: BEAT, message: 'working' };
const MANAGED = /mallory may not change what the EvictionRequest controller manages/;
const ACTIVE_ALONE = /only the entry of the interceptor in activeInterceptors can change/;

let rig: AdmissionRig;
/** May patch the status of EvictionRequests, which every interceptor must be able to, and nothing else. */
let mallory: KubeClient;
before(async () => {
  rig = await buildAdmissionRig();
  mallory = await rig.user('mallory', [MAY_REPORT]);
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

function mayIntercept(name: string): Rule {
  return {
    apiGroups: ['coordination.x-k8s.io'],
    resources: ['interceptors'],
    resourceNames: [name],
    verbs: ['intercept'],
  };
}

async function patch(client: KubeClient, name: string, fields: object, how: Patch): Promise<KubeResponse> {
  const body = { apiVersion: EVICTION_REQUEST_API_VERSION, kind: 'EvictionRequest', ...fields };
  return await send(client, { method: 'PATCH', path: pathOf(name, 'status'), body, patch: how });
}

async function apply(client: KubeClient, name: string, status: object): Promise<KubeResponse> {
  return await patch(client, name, { metadata: { name }, status }, { kind: 'apply', manager: 'mallory' });
}

/** Carries out the attempt, and proves that it was refused with these words and changed nothing. */
async function inVain(name: string, attempt: Promise<KubeResponse>, words: RegExp): Promise<void> {
  const old = await read(rig.admin, name);
  assertRefused(await attempt, words);
  assert.deepEqual(await read(rig.admin, name), old);
}

/** The object without the notes on who wrote what: Kubernetes 1.34 notes fields that were sent and not taken, too. */
function contentOf({ metadata, ...rest }: EvictionRequest): object {
  return { ...rest, metadata: { ...metadata, managedFields: undefined, resourceVersion: undefined } };
}

describe('a hostile interceptor whose turn it is', () => {
  it('a hostile interceptor cannot change what the EvictionRequest controller manages', async () => {
    const name = await started(rig, NAMES);
    const { targetInterceptors } = firstStatus([OWN, LAST]);
    const inactive = /the active interceptor can be removed only when/;
    const attempts: readonly (readonly [object, RegExp])[] = [
      [{ observedGeneration: 0 }, /observedGeneration may not decrease/],
      [{ observedGeneration: 99 }, MANAGED],
      [{ targetInterceptors }, /targetInterceptors is immutable/],
      [{ activeInterceptors: ['b.example.com'], processedInterceptors: [OWN] }, MANAGED],
      [{ activeInterceptors: [] }, inactive],
      [{ activeInterceptors: null }, inactive],
      [{ processedInterceptors: ['b.example.com'] }, /only an interceptor that was active and is not any more/],
      [{ processedInterceptors: null }, MANAGED],
      [{ conditions: [conditionWith('Progressing', 'False')] }, MANAGED],
      [{ conditions: [conditionWith('Progressing', 'True', '2036-01-01T10:00:00Z')] }, MANAGED],
      [{ conditions: null }, MANAGED],
      [{ conditions: [conditionWith('Progressing', 'True'), conditionWith('Canceled', 'False')] }, MANAGED],
      [
        {
          conditions: [conditionWith('Progressing', 'False'), conditionWith('Evicted', 'True')],
          activeInterceptors: [],
          processedInterceptors: [OWN],
        },
        MANAGED,
      ],
      [{ interceptors: null }, /interceptors may not be unset/],
    ];
    for (const [status, words] of attempts) await inVain(name, patchStatus(mallory, name, status), words);
    await inVain(name, patchStatus(mallory, name, null), /status may not be unset/);
    await inVain(name, apply(mallory, name, { activeInterceptors: ['b.example.com'] }), /must have at most 1 item/);
    const target = { targetInterceptors: [{ name: 'c.example.com' }] };
    await inVain(name, apply(mallory, name, target), /targetInterceptors is immutable/);
  });

  it('a hostile interceptor cannot start a request that has no status yet', async () => {
    const name = crypto.randomUUID();
    assertAllowed(await create(rig.admin, requestFor('web', name)));
    await inVain(name, patchStatus(mallory, name, firstStatus(NAMES)), MANAGED);
    await inVain(name, patchStatus(mallory, name, { conditions: [conditionWith('Canceled', 'True')] }), MANAGED);
    // Each field by itself, as the controller would write it.
    const status = firstStatus(NAMES);
    const fields = [
      'observedGeneration',
      'targetInterceptors',
      'interceptors',
      'activeInterceptors',
      'conditions',
    ] as const;
    for (const field of fields) {
      const part = { [field]: status[field] };
      await inVain(name, patchStatus(mallory, name, part), MANAGED);
      assertAllowed(await patchStatus(rig.controller, name, part));
    }
  });

  it('a hostile interceptor cannot change the entries of others, nor add or remove one', async () => {
    const name = await started(rig, NAMES);
    const entries = firstStatus(NAMES).interceptors ?? [];
    const foreign = /interceptors must have the names of targetInterceptors/;
    await inVain(name, report(mallory, name, { name: 'c.example.com', message: 'new' }), foreign);
    await inVain(name, report(mallory, name, { name: 'b.example.com', message: 'foreign' }), ACTIVE_ALONE);
    await inVain(name, report(mallory, name, { name: LAST, completionTime: BEAT }), ACTIVE_ALONE);
    await inVain(name, patchStatus(mallory, name, { interceptors: entries.slice(0, 2) }), foreign);
    const all = entries.map((entry) => ({ ...entry, completionTime: BEAT }));
    await inVain(name, patchStatus(mallory, name, { interceptors: all }), ACTIVE_ALONE);
  });

  it('a hostile interceptor cannot write a heartbeat every second, nor change or unset what it has reported, nor write a megabyte', async () => {
    const name = await started(rig, NAMES);
    assertAllowed(await report(mallory, name, WORKING));
    const grow = /heartbeatTime can only grow, by at least 60 seconds/;
    for (const second of ['01', '02', '59']) {
      await inVain(name, report(mallory, name, { ...WORKING, heartbeatTime: `2026-01-01T10:00:${second}Z` }), grow);
    }
    await inVain(name, report(mallory, name, { ...WORKING, heartbeatTime: '2026-01-01T09:00:00Z' }), grow);
    const restarted = { ...WORKING, startTime: '2026-01-01T10:05:00Z', heartbeatTime: '2026-01-01T10:05:00Z' };
    await inVain(name, report(mallory, name, restarted), /startTime is immutable once set/);
    await inVain(name, report(mallory, name, { name: OWN }), /heartbeatTime may not be unset/);
    const huge = { ...WORKING, message: 'x'.repeat(1_000_000) };
    await inVain(name, report(mallory, name, huge), /may not be more than 4096/);
    await inVain(name, apply(mallory, name, { interceptors: [{ name: OWN }] }), /message: Required value/);
  });

  it('a hostile interceptor cannot fill a request by applying under ever new names, and the controller can still write it', async () => {
    const name = await started(rig, NAMES);
    let answer: KubeResponse = await report(mallory, name, WORKING);
    for (let at = 0; at < 110 && answer.status === 200; at += 1)
      answer = await report(mallory, name, WORKING, `m${at}`);
    assertRefused(answer, /at most 100 entries in metadata.managedFields/);
    assert.equal((await read(rig.admin, name)).metadata.managedFields?.length, 100);
    const next = { activeInterceptors: ['b.example.com'], processedInterceptors: [OWN] };
    assertAllowed(await patchStatus(rig.controller, name, next));
  });

  it('a hostile interceptor cannot change labels, owners, finalizers or the spec through the status', async () => {
    const name = await started(rig, NAMES);
    const old = await read(rig.admin, name);
    const metadata = { labels: { [NODE_LABEL]: 'node-b' }, finalizers: ['mallory.example.com/forever'] };
    const fields = { metadata, spec: { requesters: [] }, status: { interceptors: old.status?.interceptors } };
    assertAllowed(await patch(mallory, name, fields, { kind: 'merge' }));
    assert.deepEqual(contentOf(await read(rig.admin, name)), contentOf(old));
    const path = pathOf(name);
    assertRefused(await send(mallory, { method: 'DELETE', path }), /mallory.* cannot delete resource/);
    const body = { spec: { requesters: [] } };
    assertRefused(
      await send(mallory, { method: 'PATCH', path, body, patch: { kind: 'merge' } }),
      /mallory.* cannot patch resource "evictionrequests" /,
    );
  });

  it('a hostile interceptor cannot fill the status so that the controller has no room to end the request', async () => {
    const name = await started(rig, NAMES);
    const [progressing] = firstStatus(NAMES).conditions ?? [];
    const junk = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({
        ...conditionWith(`example.com/Junk-${index}`, 'True'),
        message: 'x'.repeat(32_768),
      }));
    const tooMany = { conditions: [progressing, ...junk(30)] };
    await inVain(name, patchStatus(mallory, name, tooMany), /at most 29 conditions besides Evicted, Canceled/);
    assertAllowed(await patchStatus(mallory, name, { conditions: [progressing, ...junk(29)] }));
    const conditions = [...junk(29), conditionWith('Progressing', 'False'), conditionWith('Canceled', 'True')];
    const end = { conditions, activeInterceptors: [], processedInterceptors: [OWN] };
    assertAllowed(await patchStatus(rig.controller, name, end));
    await inVain(name, report(mallory, name, { name: OWN, message: 'still here' }), ACTIVE_ALONE);
  });

  it('an honest interceptor can begin, write heartbeats, and complete', async () => {
    const name = await started(rig, NAMES);
    assertAllowed(await report(mallory, name, WORKING));
    const beat = { ...WORKING, heartbeatTime: '2026-01-01T10:03:00Z', expectedFinishTime: '2026-01-01T11:00:00Z' };
    assertAllowed(await report(mallory, name, beat));
    assertAllowed(await report(mallory, name, { ...beat, completionTime: '2026-01-01T10:03:30Z' }));
  });
});

describe('the entry of a reserved interceptor', () => {
  it('only an identity with the verb intercept on its name writes the entry of a reserved interceptor', async () => {
    const words = /mallory may not report as kubelet.k8s.io: it lacks the verb intercept on interceptors.coordination/;
    const name = await started(rig, [KUBELET, LAST]);
    await inVain(name, report(mallory, name, { name: KUBELET, completionTime: BEAT }), words);
    await inVain(name, report(mallory, name, { ...WORKING, name: KUBELET }, 'another manager'), words);
    const daemonSet = await rig.user('daemon-set', [MAY_REPORT, mayIntercept('daemonset.apps.k8s.io')]);
    const foreign = report(daemonSet, name, { name: KUBELET, completionTime: BEAT });
    await inVain(name, foreign, /daemon-set may not report as kubelet.k8s.io/);
    await inVain(
      name,
      report(rig.controller, name, { name: KUBELET, completionTime: BEAT }),
      /may not report as kubelet/,
    );
    const kubelet = await rig.user('kubelet', [MAY_REPORT, mayIntercept(KUBELET)]);
    assertAllowed(await report(kubelet, name, { name: KUBELET, completionTime: BEAT }));
  });

  it('the controller writes the entries of imperative-eviction.k8s.io and daemonset.apps.k8s.io', async () => {
    for (const names of [['daemonset.apps.k8s.io', LAST], [LAST]]) {
      const name = await started(rig, names);
      assertAllowed(await report(rig.controller, name, { ...WORKING, name: names[0] ?? '' }));
    }
  });

  it('a node writes the entry for its own static pods, and no other node does', async () => {
    const nodeA = await rig.user('system:node:node-a', [], ['system:nodes']);
    const nodeB = await rig.user('system:node:node-b', [], ['system:nodes']);
    const name = await started(rig, [KUBELET, LAST], { labels: { [NODE_LABEL]: 'node-a' } });
    const working = { ...WORKING, name: KUBELET };
    await inVain(name, report(nodeB, name, working), /a node may only report on EvictionRequests of pods on itself/);
    const own = await patchStatus(nodeA, name, { conditions: [conditionWith('Progressing', 'False')] });
    assertRefused(own, /may not change what the EvictionRequest controller manages/);
    assertAllowed(await report(nodeA, name, working));
    const other = await started(rig, [OWN, KUBELET, LAST], { labels: { [NODE_LABEL]: 'node-a' } });
    await inVain(other, report(nodeA, other, WORKING), /a node may only report as the interceptor kubelet.k8s.io/);
    const answer = statusMessage(await report(nodeA, other, working));
    assert.match(answer, ACTIVE_ALONE);
  });
});
