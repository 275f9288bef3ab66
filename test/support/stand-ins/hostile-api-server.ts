import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { COMPLETION_FINALIZER } from '../../../src/api/names.ts';
import { createAuthority } from '../../control-plane/certificates.ts';

/** A text that would control a terminal; EVIL is how a test finds it in the output. */
export const HOSTILE =
  'EVIL\u001B[2J\u001B[1A\u001B]0;owned\u0007\u009B31m\rall is well\nnode/forged drained\u202E\u2066\u2028\u200B\u{E0041}end';
/** The names that objects of this server have; the API server of a cluster lets no other characters into names. */
export const NAMES = { node: 'n1', maintenance: 'm', pod: 'web', uid: 'u-1' } as const;

const TIME = '2026-01-01T10:00:00Z';
const CONDITION = { status: 'False', reason: HOSTILE, message: HOSTILE, lastTransitionTime: TIME };

const maintenance = {
  apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
  kind: 'NodeMaintenance',
  metadata: {
    name: NAMES.maintenance,
    uid: 'm-1',
    resourceVersion: '1',
    creationTimestamp: TIME,
    finalizers: [COMPLETION_FINALIZER],
    annotations: { hostile: HOSTILE },
  },
  spec: {
    stage: 'Drain',
    reason: HOSTILE,
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [NAMES.node] }] }],
    },
    drainPlan: [
      { podType: 'Default', podPriority: 1_000_000, podSelector: { matchLabels: { app: HOSTILE } } },
      { podType: 'Static', podPriority: 2_147_483_647 },
    ],
  },
  status: {
    drainPlanPosition: 1,
    nodeStatuses: [
      {
        nodeRef: { name: NAMES.node },
        drainTargets: [{ podType: 'Default', podPriority: 1_000_000, podSelector: { matchLabels: { app: HOSTILE } } }],
        drainMessage: HOSTILE,
        podsPendingEvacuation: 1,
        podsEvacuating: 1,
        podsBlocking: [
          { namespace: 'default', name: NAMES.pod, reason: 'Interceptor', message: HOSTILE, since: TIME },
          { namespace: 'default', name: 'other', reason: HOSTILE, message: HOSTILE, since: TIME },
        ],
        escapedDaemonSets: [HOSTILE],
      },
    ],
    conditions: [{ ...CONDITION, type: 'Drained' }],
  },
};
const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: NAMES.node, uid: 'n-1', resourceVersion: '1', annotations: { hostile: HOSTILE } },
  spec: { unschedulable: false },
  status: { conditions: [{ ...CONDITION, type: 'Ready' }] },
};
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: NAMES.pod,
    namespace: 'default',
    uid: NAMES.uid,
    resourceVersion: '1',
    labels: { app: HOSTILE },
    annotations: {
      'interceptor.evictionrequest.coordination.k8s.io/priority_evil.example.com': HOSTILE,
      [`interceptor.evictionrequest.coordination.k8s.io/priority_${HOSTILE}`]: '1/controller',
    },
  },
  spec: { nodeName: NAMES.node, containers: [{ name: HOSTILE, image: HOSTILE }] },
  status: { phase: 'Running' },
};
const request = {
  apiVersion: 'coordination.x-k8s.io/v1alpha1',
  kind: 'EvictionRequest',
  metadata: {
    name: NAMES.uid,
    namespace: 'default',
    uid: 'e-1',
    resourceVersion: '1',
    creationTimestamp: TIME,
    labels: { 'nodemaintenance.x-k8s.io/node': NAMES.node },
  },
  spec: {
    target: { pod: { name: NAMES.pod, uid: NAMES.uid } },
    requesters: [{ name: 'cli.nodemaintenance.x-k8s.io' }, { name: 'nodemaintenance.k8s.io' }],
  },
  status: {
    targetInterceptors: [{ name: 'evil.example.com' }, { name: 'imperative-eviction.k8s.io' }],
    activeInterceptors: ['evil.example.com'],
    processedInterceptors: [],
    interceptors: [
      { name: 'evil.example.com', startTime: TIME, heartbeatTime: TIME, message: HOSTILE },
      { name: 'imperative-eviction.k8s.io', message: HOSTILE },
    ],
    conditions: [{ ...CONDITION, type: 'Progressing', status: 'True', lastTransitionTime: TIME }],
  },
};
const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'budget', namespace: 'default', uid: 'b-1', resourceVersion: '1' },
  spec: { selector: { matchLabels: { app: HOSTILE } }, maxUnavailable: 0 },
  status: { disruptionsAllowed: 0, conditions: [{ ...CONDITION, type: 'DisruptionAllowed' }] },
};
const OBJECTS: Readonly<Record<string, object>> = {
  nodemaintenances: maintenance,
  nodes: node,
  pods: pod,
  evictionrequests: request,
  poddisruptionbudgets: budget,
};

/** How the server answers writes: as if it had done them, or with a hostile refusal. */
export type WriteAnswer = 'done' | 'refused';

/** A server that has one object of each kind, with a hostile text wherever one may stand. */
export interface HostileApiServer extends AsyncDisposable {
  readonly folder: string;
  readonly kubeconfig: string;
  writes: WriteAnswer;
}

function statusOf(code: number): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', message: `${code}: ${HOSTILE}`, reason: HOSTILE, code };
}

function answer(call: IncomingMessage, response: ServerResponse, writes: WriteAnswer): void {
  const url = new URL(call.url ?? '', 'https://localhost');
  const [kind = '', name] = url.pathname.split('/').slice(url.pathname.includes('/namespaces/') ? -2 : -2);
  const object = OBJECTS[url.pathname.split('/').at(-1) ?? ''];
  const send = (code: number, body: object): void => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (url.searchParams.has('watch')) {
    // Open until the client ends it, without anything new.
    response.writeHead(200).flushHeaders();
    return;
  }
  if (call.method !== 'GET' && writes === 'refused') send(403, statusOf(403));
  else if (object !== undefined && call.method === 'GET')
    send(200, { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items: [object] });
  else if (object !== undefined) send(201, object);
  else if (OBJECTS[kind] !== undefined && name !== undefined) send(200, OBJECTS[kind]);
  else send(404, statusOf(404));
}

/** Starts the server on loopback. */
export async function startHostileApiServer(): Promise<HostileApiServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-hostile-'));
  const authority = await createAuthority(folder);
  const { cert, key } = await authority.server('server', ['IP:127.0.0.1']);
  const server = createServer({ cert: await readFile(cert), key: await readFile(key) });
  const kubeconfig = path.join(folder, 'kubeconfig');
  const self: HostileApiServer = {
    folder,
    kubeconfig,
    writes: 'done',
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  server.on('request', (call: IncomingMessage, response: ServerResponse) => {
    call.resume();
    call.on('end', () => answer(call, response, self.writes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority': authority.ca.cert };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'none' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return self;
}
