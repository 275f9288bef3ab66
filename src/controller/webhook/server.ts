import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Node } from '../../api/pod.ts';
import { decideTimes } from '../../decide/eviction/admission-times.ts';
import { maintenanceWarnings } from '../../decide/maintenance/warnings.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { ServingCertificate } from '../../kube/certificate/renewal.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Log } from '../../telemetry/log.ts';
import { limitConnections, SERVER_TIMES } from '../../telemetry/server-limits.ts';
import {
  createGivenCertificate,
  createOwnCertificate,
  type ReconcileCertificate,
  type ReconciledCertificate,
} from './certificate-secret.ts';
import { type NoReview, parseReview, refusalAnswer, reviewAnswer } from './eviction-review.ts';
import { parseMaintenanceReview, warningsAnswer } from './maintenance-review.ts';

/** What of a call is read: all of it, or nothing, and then this is the answer. */
type ReadBody = { readonly text: string } | { readonly status: 411 | 413 | 503; readonly why: string };

/** Of most reviews; the calls of so many bytes at once are bounded by the connections. */
const MAX_USUAL_BYTES = 256 * 1024;
/**
 * Of any review: the object and the old object, of 1.5 MiB each, which is what etcd takes, and who asks. A smaller limit would
 * be a way around the webhook, for its failurePolicy is Ignore; see docs/reference/webhook.md.
 */
const MAX_BYTES = 3.25 * 1024 * 1024;
/** Of the large ones so many are read at once. */
const MAX_LARGE = 4;

/** Reads the bodies of calls, which any client may send, in bounded memory. API servers send the length of theirs. */
function createBodyReader(): (request: IncomingMessage) => Promise<ReadBody> {
  let large = 0;
  return async (request) => {
    const length = request.headers['content-length'];
    if (length === undefined) return { status: 411, why: 'Content-Length is missing' };
    const bytes = Number(length);
    if (bytes > MAX_BYTES) return { status: 413, why: `at most ${MAX_BYTES} bytes` };
    // A body is no longer than its header says.
    if (bytes <= MAX_USUAL_BYTES) return { text: await text(request) };
    if (large >= MAX_LARGE) return { status: 503, why: `at most ${MAX_LARGE} bodies of such a size at once` };
    large += 1;
    try {
      return { text: await text(request) };
    } finally {
      large -= 1;
    }
  };
}

/** Where the API servers send their reviews; the ValidatingWebhookConfiguration says the same. */
export const WEBHOOK_PATH = '/validate-evictionrequest-status';
/** Where they send NodeMaintenances that a client writes, and get the warnings for that client. */
export const MAINTENANCE_WEBHOOK_PATH = '/warn-nodemaintenance';

/** Longer than API servers keep an idle connection (90 s), so that none sends a review into one that we just close. */
const KEEP_ALIVE_MS = 120_000;
const HANDSHAKE_MS = 5_000;
const MAX_CONNECTIONS = 128;
/** More than the 25 idle connections that an API server keeps, and the reviews of a busy moment. */
const MAX_OF_ONE_ADDRESS = 64;
/** The certificate is reconciled at this interval; another replica may have renewed it. */
const RECONCILE_EVERY_MS = 60_000;
const FIRST_BACKOFF_MS = 500;
/** API servers read their webhook configurations by watching; until then they do not trust a new certificate. */
const TRUST_SPREADS_MS = 2_000;
/** When the webhook stops, calls under way are cut off after this time. */
const STOP_MS = 1_000;

/** How the webhook is reached. */
interface WebhookOptions {
  /** The address of this machine to listen on, such as :: or 127.0.0.1. */
  readonly listenAddress: string;
  readonly port: number;
  /** The host name by which API servers call: nodemaint-webhook.nodemaint-system.svc for the Service of that name. */
  readonly serviceHost: string;
  /** More DNS names and IP addresses that the certificate is for. */
  readonly otherHosts?: readonly string[];
  /** Who keeps the certificate: the replicas, or another program that writes the Secret. */
  readonly certificate?: 'self' | 'secret';
}

interface WebhookDependencies {
  /** All nodes of the cluster; undefined while they are not known, and then nothing is warned of. */
  readonly nodes: () => readonly Node[] | undefined;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Told until when the certificate is valid that is served from now on, in milliseconds since the epoch. */
  readonly onCertificate?: (until: number) => void;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Judge = (body: string, dependencies: WebhookDependencies) => string | NoReview;

function judgeTimes(body: string, { clock, log }: WebhookDependencies): ReturnType<Judge> {
  const review = parseReview(body);
  if ('wrong' in review) return review.uid === undefined ? review : refusalAnswer(review.uid, review.wrong);
  const decision = decideTimes(review.old, review.fresh, clock.now());
  if (decision.kind === 'refused') log.info({ user: review.user, reason: decision.message }, 'refused status');
  return reviewAnswer(review.uid, decision);
}

function warnOfNodes(body: string, { log, nodes }: WebhookDependencies): ReturnType<Judge> {
  const review = parseMaintenanceReview(body);
  // This webhook only warns: it does not refuse what it cannot read either.
  if ('wrong' in review) return review.uid === undefined ? review : warningsAnswer(review.uid, [review.wrong]);
  const known = nodes();
  const warnings = known === undefined ? [] : maintenanceWarnings(review.nodeSelector, known);
  if (warnings.length > 0) log.info({ user: review.user, maintenance: review.name, warnings }, 'warned');
  return warningsAnswer(review.uid, warnings);
}

const JUDGES: ReadonlyMap<string, Judge> = new Map(
  Object.entries({ [WEBHOOK_PATH]: judgeTimes, [MAINTENANCE_WEBHOOK_PATH]: warnOfNodes }),
);

/** Answers one call, which may come from any client and have any content. */
async function answerCall(
  request: IncomingMessage,
  readBody: ReturnType<typeof createBodyReader>,
  dependencies: WebhookDependencies,
): Promise<Answer> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const judge = JUDGES.get(path);
  if (judge === undefined) return { status: 404, body: `there is ${[...JUDGES.keys()].join(' and ')} only\n` };
  if (request.method !== 'POST') return { status: 405, body: 'only POST\n', headers: { Allow: 'POST' } };
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') return { status: 415, body: 'only application/json\n' };
  const body = await readBody(request);
  if ('why' in body) return { status: body.status, body: `${body.why}\n` };
  const answer = judge(body.text, dependencies);
  if (typeof answer !== 'string') return { status: 400, body: `${answer.wrong}\n` };
  return { status: 200, body: answer, headers: { 'Content-Type': 'application/json' } };
}

function send(request: IncomingMessage, response: ServerResponse, { status, body, headers }: Answer): void {
  // What was not read to its end cannot be followed by another call on the same connection.
  const rest = request.complete ? {} : { Connection: 'close' };
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers, ...rest });
  response.end(body);
}

/** What TLS needs of a certificate; the chain is the certificate alone, because clients know the authority. */
function tlsOf({ certificate, key }: ServingCertificate): { cert: string; key: string; minVersion: 'TLSv1.2' } {
  return { cert: certificate, key, minVersion: 'TLSv1.2' };
}

/** Listens until the signal is aborted; throws LISTEN_FAILED. */
async function listen(
  server: Server,
  { listenAddress, port }: WebhookOptions,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      server.close(() => {
        resolve();
      });
      server.closeIdleConnections();
      setTimeout(() => {
        server.closeAllConnections();
      }, STOP_MS).unref();
    };
    server.on('error', (error) => {
      const where = `${listenAddress} port ${port}`;
      reject(new NodemaintError('LISTEN_FAILED', `cannot serve the webhook at ${where}`, { cause: error }));
    });
    server.listen({ host: listenAddress, port }, () => {
      log.info({ listenAddress, port }, 'serving the webhook');
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  });
}

/** Reconciles the certificate until that succeeds; undefined if the signal is aborted before. */
async function reconcileUntilDone(
  reconcile: ReconcileCertificate,
  { clock, log }: WebhookDependencies,
  signal: AbortSignal,
): Promise<ReconciledCertificate | undefined> {
  let retryMs = FIRST_BACKOFF_MS;
  while (!signal.aborted) {
    try {
      return await reconcile(signal);
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ reason: describeError(error), retryMs }, 'cannot reconcile the certificate of the webhook');
      await clock.sleep(retryMs, signal).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, RECONCILE_EVERY_MS);
    }
  }
  return undefined;
}

/**
 * Serves the admission webhook until the signal is aborted. It checks what CEL cannot, which has no clock (KEP-4563,
 * InterceptorStatus) and does not see the nodes (KEP-4212, "NodeMaintenance Admission"). Every replica serves; they share one
 * certificate, which is renewed without a restart. It waits while no API server can be reached. Throws LISTEN_FAILED.
 */
export async function runWebhook(
  options: WebhookOptions,
  dependencies: WebhookDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = dependencies;
  const hosts = [options.serviceHost, ...(options.otherHosts ?? [])];
  const isGiven = options.certificate === 'secret';
  const reconcile = isGiven ? createGivenCertificate(client) : createOwnCertificate(hosts, dependencies);
  const first = await reconcileUntilDone(reconcile, dependencies, signal);
  if (first === undefined) return;
  const tell = ({ certificate }: ServingCertificate): void => {
    dependencies.onCertificate?.(new X509Certificate(certificate).validToDate.getTime());
  };
  tell(first.serving);
  const readBody = createBodyReader();
  const times = { ...SERVER_TIMES, handshakeTimeout: HANDSHAKE_MS, keepAliveTimeout: KEEP_ALIVE_MS };
  const server = createServer({ ...tlsOf(first.serving), ...times }, (request, response) => {
    // A connection may break at any time, which its client notices.
    request.on('error', () => undefined);
    answerCall(request, readBody, dependencies)
      .catch((error: unknown): Answer => {
        log.debug({ reason: describeError(error) }, 'a call of the webhook broke off');
        return { status: 500, body: 'failed\n' };
      })
      .then((answer) => {
        send(request, response, answer);
      })
      .catch(() => response.destroy());
  });
  limitConnections(server, MAX_CONNECTIONS, MAX_OF_ONE_ADDRESS);
  const ending = new AbortController();
  const renewing = async (stop: AbortSignal): Promise<void> => {
    let current = first.serving;
    while (!stop.aborted) {
      await clock.sleep(RECONCILE_EVERY_MS, stop).catch(() => undefined);
      const found = await reconcileUntilDone(reconcile, dependencies, stop);
      if (found === undefined || found.serving.certificate === current.certificate) continue;
      if (found.trustChanged) await clock.sleep(TRUST_SPREADS_MS, stop).catch(() => undefined);
      current = found.serving;
      server.setSecureContext(tlsOf(current));
      tell(current);
      log.info({}, 'the webhook serves with its new certificate');
    }
  };
  try {
    await Promise.all([listen(server, options, log, signal), renewing(AbortSignal.any([signal, ending.signal]))]);
  } finally {
    ending.abort();
  }
}
