import { type Agent, request as httpsRequest } from 'node:https';
import { connect } from 'node:tls';
import path from 'node:path';
import type { EvictionRequestStatus, InterceptorStatus } from '../../../src/api/eviction-request.ts';
import type { Condition } from '../../../src/api/meta.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import { runWebhook, WEBHOOK_PATH } from '../../../src/controller/webhook/server.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createKubeClient, type KubeClient, type KubeResponse } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'webhook');
const CONFIGURATION = 'validatingwebhookconfiguration/nodemaint-webhook';

/** Long sleeps of the webhook last no longer than this here. */
const LONGEST_SLEEP_MS = 2_000;

export const A = 'actor-a.example.com';
export const B = 'actor-b.example.com';

/** The present time and so many seconds, as metav1.Time writes it. */
export function fromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** What A writes when it starts its work now, with other times in place of these. */
export function working(times: Omit<InterceptorStatus, 'name'> = {}): InterceptorStatus {
  return { name: A, startTime: fromNow(0), heartbeatTime: fromNow(0), message: 'at work', ...times };
}

/** The condition whose time is that of the activation. */
export function progressing(status: 'True' | 'False', lastTransitionTime: string): Condition {
  return { type: 'Progressing', status, reason: 'InterceptorActive', message: '', lastTransitionTime };
}

/** A review of a write that changes nothing by the clock, with other fields in the new object. */
export function reviewOf(fields: object): object {
  const object = { metadata: { name: 'u-1' }, spec: { target: { pod: { name: 'web', uid: 'u-1' } } } };
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'r-1',
      operation: 'UPDATE',
      resource: { group: 'coordination.x-k8s.io', version: 'v1alpha1', resource: 'evictionrequests' },
      subResource: 'status',
      object: { ...object, ...fields },
      oldObject: object,
    },
  };
}

/** A webhook that runs in the test's process as the controller's user. */
export interface RunningWebhook {
  /** How far its clock is ahead of the machine's, in milliseconds. */
  aheadMs: number;
  readonly running: Promise<void>;
  stop(): Promise<void>;
}

/** What a direct call has other than a review by the API server. */
export interface DirectCall {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly agent?: Agent;
  /** The certificates to trust; those of the Secret where it is absent. */
  readonly ca?: string;
}

/** What the answer to a direct call is. */
export interface DirectAnswer {
  readonly status: number;
  readonly text: string;
}

/** A real API server that asks a webhook in the test's process. */
export interface WebhookRig extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** Everything that the webhooks have logged, as JSON lines. */
  readonly logged: readonly string[];
  startWebhook(port: number, aheadMs?: number): Promise<RunningWebhook>;
  /** Tells the API server to call the webhook at this port of loopback. */
  callAt(port: number): Promise<void>;
  /** Makes a request whose first interceptor, A, was activated so many seconds ago. */
  begin(name: string, activatedSecondsAgo?: number): Promise<void>;
  /** An interceptor writes its entry; resolves with the API server's words, empty where it accepted. */
  report(name: string, entry: InterceptorStatus): Promise<string>;
  /** The controller writes the status; resolves with the API server's words, empty where it accepted. */
  control(name: string, status: EvictionRequestStatus): Promise<string>;
  /** The Secret's entries, decoded; undefined while there is none. */
  secret(): Promise<Readonly<Record<string, string>> | undefined>;
  /** Calls a webhook directly, trusting what the Secret says. */
  call(port: number, body: string, options?: DirectCall): Promise<DirectAnswer>;
}

/** The fingerprint of the certificate that is served at a port of loopback. */
export async function servedFingerprint(port: number): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function said(response: KubeResponse): string {
  return response.status < 300 ? '' : `${response.status} ${statusMessage(response)}`;
}

/** Starts a control plane with the product's manifests, the webhook's among them, but without a webhook. */
export async function buildWebhookRig(): Promise<WebhookRig> {
  await using stack = new AsyncDisposableStack();
  /** What is started while the rig is used. */
  const owned = new AsyncDisposableStack();
  const { controlPlane, controllerKubeconfig } = stack.use(
    await startInstalledCluster({}, AbortSignal.timeout(120_000)),
  );
  await controlPlane.kubectl(['apply', '-k', MANIFESTS]);
  stack.use(owned);
  const never = new AbortController().signal;
  const clientOf = async (kubeconfig: string): Promise<KubeClient> => {
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    owned.defer(() => {
      client.close();
    });
    return client;
  };
  const client = await clientOf(controlPlane.adminKubeconfig);
  const logged: string[] = [];
  let hasService = true;

  const startWebhook: WebhookRig['startWebhook'] = async (port, aheadMs = 0) => {
    const stopping = new AbortController();
    const { now, monotonic, sleep } = createSystemClock();
    const own = await clientOf(controllerKubeconfig);
    const note = (fields: object, message: string): void => {
      logged.push(JSON.stringify({ ...fields, message, port }));
    };
    const log: Log = { debug: note, info: note, warn: note, error: note };
    const clock = {
      now: () => now() + webhook.aheadMs,
      monotonic,
      sleep: (ms: number, signal: AbortSignal) => sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
    };
    const serviceHost = 'nodemaint-webhook.nodemaint-system.svc';
    const options = { listenAddress: '127.0.0.1', port, serviceHost, otherHosts: ['127.0.0.1'] };
    const webhook = {
      aheadMs,
      running: runWebhook(options, { client: own, clock, log, nodes: () => undefined }, stopping.signal),
      stop: async () => {
        stopping.abort();
        await webhook.running;
      },
    };
    owned.defer(async () => {
      await webhook.stop().catch(() => undefined);
    });
    return webhook;
  };

  const secret: WebhookRig['secret'] = async () => {
    const at = '/api/v1/namespaces/nodemaint-system/secrets/nodemaint-webhook';
    const { status, body } = await client.send({ method: 'GET', path: at }, never);
    if (status === 404) return undefined;
    const { data } = body as { data: Record<string, string> };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
    );
  };
  const statusPath = (name: string): string => objectPath(EVICTION_REQUESTS, { name, namespace: 'default' }, 'status');
  const control: WebhookRig['control'] = async (name, status) =>
    said(
      await client.send({ method: 'PATCH', path: statusPath(name), body: { status }, patch: { kind: 'merge' } }, never),
    );
  const kept = stack.move();
  return {
    controlPlane,
    logged,
    startWebhook,
    callAt: async (port) => {
      const at = '/webhooks/0/clientConfig';
      // Only what says where it is: the caBundle stays.
      const url = { op: 'add', path: `${at}/url`, value: `https://127.0.0.1:${port}${WEBHOOK_PATH}` };
      const patch = JSON.stringify(hasService ? [{ op: 'remove', path: `${at}/service` }, url] : [url]);
      await controlPlane.kubectl(['patch', CONFIGURATION, '--type=json', '-p', patch]);
      hasService = false;
    },
    begin: async (name, activatedSecondsAgo = 0) => {
      const body = {
        apiVersion: EVICTION_REQUEST_API_VERSION,
        kind: 'EvictionRequest',
        metadata: { name, namespace: 'default' },
        spec: { target: { pod: { name, uid: name } }, requesters: [{ name: 'drainer.example.com' }] },
      };
      const made = said(
        await client.send({ method: 'POST', path: collectionPath(EVICTION_REQUESTS, 'default'), body }, never),
      );
      const names = [A, B, 'imperative-eviction.k8s.io'];
      const begun = await control(name, {
        observedGeneration: 1,
        targetInterceptors: names.map((each) => ({ name: each })),
        activeInterceptors: [A],
        processedInterceptors: [],
        interceptors: names.map((each) => ({ name: each, message: '' })),
        conditions: [progressing('True', fromNow(-activatedSecondsAgo))],
      });
      if (made !== '' || begun !== '') throw new Error(`${made} ${begun}`);
    },
    report: async (name, entry) => {
      const body = {
        apiVersion: EVICTION_REQUEST_API_VERSION,
        kind: 'EvictionRequest',
        metadata: { name, namespace: 'default' },
        status: { interceptors: [entry] },
      };
      const patch = { kind: 'apply', manager: entry.name } as const;
      return said(await client.send({ method: 'PATCH', path: statusPath(name), body, patch }, never));
    },
    control,
    secret,
    call: async (port, body, options = {}) => {
      const ca = options.ca ?? (await secret())?.['ca.crt'];
      return await new Promise((resolve, reject) => {
        const headers = { 'Content-Type': 'application/json', ...options.headers };
        const url = `https://127.0.0.1:${port}${options.path ?? WEBHOOK_PATH}`;
        const call = httpsRequest(url, { method: 'POST', ca, ...options, headers, timeout: 5_000 }, (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, text });
          });
        });
        call.on('timeout', () => call.destroy(new Error('no answer within 5 s')));
        call.on('error', reject);
        call.end(body);
      });
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
