/** Sends the same calls to the model and to another API server, and says where the two differ first. */
import type { KubeObject } from '../../../src/api/meta.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import type { Random } from '../../chaos/random.ts';
import { KIND_RULES, placeOf } from '../api-server/kinds.ts';
import type { ModelServer } from '../api-server/server.ts';
import { type Call, NAMESPACE } from './call.ts';
import { drawCall } from './calls.ts';
import { comparable, comparableAnswer } from './compare.ts';

const KINDS = ['Pod', 'EvictionRequest', 'NodeMaintenance', 'Node', 'PodDisruptionBudget', 'Lease'] as const;
const OWN_NAMES = ['n0', 'm0', 'm1'];

/** One of the two servers, and what it has said so far. */
interface Side {
  send(request: KubeRequest): Promise<KubeResponse>;
  readonly seen: Map<string, KubeObject>;
  readonly uids: Map<string, string>;
}

function side(send: Side['send']): Side {
  return { send, seen: new Map(), uids: new Map() };
}

/** Whether an object is one of the calls'; a real API server has others. */
function isOwn({ metadata: { name, namespace } }: KubeObject): boolean {
  return namespace === undefined ? OWN_NAMES.includes(name) : namespace === NAMESPACE;
}

/** The objects of all kinds as text, which are also what the side has seen last of them. */
async function objectsOf({ send, seen, uids }: Side): Promise<readonly string[]> {
  const texts: string[] = [];
  const versions = new Map(
    [...seen].map(([path, { metadata }]) => [path, `${metadata.uid} ${metadata.resourceVersion}`]),
  );
  seen.clear();
  for (const kind of KINDS) {
    const { resource } = KIND_RULES[kind];
    const { body } = await send({ method: 'GET', path: collectionPath(resource) });
    const items = ((body as { items?: readonly KubeObject[] }).items ?? []).filter(isOwn);
    for (const item of items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
      const { name, namespace, uid, resourceVersion } = item.metadata;
      const path = `${collectionPath(resource, namespace)}/${name}`;
      seen.set(path, item);
      const isSame = versions.get(path) === `${uid} ${resourceVersion}`;
      texts.push(`${kind} ${isSame ? 'unchanged' : 'changed'} ${comparable(kind, item, uids)}`);
    }
  }
  // The names of requests are UIDs, which have another order on each server.
  return texts.toSorted();
}

/** Sends one call to both; what differs, or undefined. */
async function differenceAfter(call: Call, sides: readonly [Side, Side]): Promise<string | undefined> {
  const requests = sides.map(({ seen }) => call.request(seen));
  const answers: string[] = [];
  let message = '';
  for (const [index, each] of sides.entries()) {
    const request = requests[index];
    if (request === undefined) continue;
    const answer = await each.send(request);
    answers.push(comparableAnswer(answer));
    message = statusMessage(answer);
  }
  if (answers[0] !== answers[1]) {
    return `${call.what}: the model answers ${answers[0]}, the server ${answers[1]} (${message}); ${JSON.stringify(requests[1])}`;
  }
  const [model, server] = [await objectsOf(sides[0]), await objectsOf(sides[1])];
  const onlyModel = model.filter((text) => !server.includes(text));
  const onlyServer = server.filter((text) => !model.includes(text));
  if (onlyModel.length + onlyServer.length === 0) return undefined;
  return `${call.what} (${answers[0]}):\n  model:  ${onlyModel.join('\n          ')}\n  server: ${onlyServer.join('\n          ')}`;
}

/** The node of all pods. */
const NODE: KubeRequest = {
  method: 'POST',
  path: collectionPath(KIND_RULES.Node.resource),
  body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n0' } },
};

/** Plays so many drawn calls; returns what differs first, with the calls before it, or undefined. */
export async function compareServers(
  model: ModelServer,
  client: KubeClient,
  { random, length }: { readonly random: Random; readonly length: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  const sides = [
    side((request) => Promise.resolve(model.handle(request, 'test'))),
    side((request) => client.send(request, signal)),
  ] as const;
  const calls: Call[] = [{ what: 'create node', request: () => NODE }];
  while (calls.length < length) calls.push(drawCall(random));
  for (const [index, call] of calls.entries()) {
    const difference = await differenceAfter(call, sides);
    if (difference === undefined) continue;
    const before = calls.slice(0, index).map(({ what }) => what);
    return `${difference}\n  after: ${before.slice(-12).join(', ')}`;
  }
  return undefined;
}

/** Takes everything of the calls away from a server. */
export async function cleanServer(client: KubeClient, signal: AbortSignal): Promise<void> {
  for (const kind of KINDS) {
    const { resource } = KIND_RULES[kind];
    const { body } = await client.send({ method: 'GET', path: collectionPath(resource) }, signal);
    for (const { metadata } of ((body as { items?: readonly KubeObject[] }).items ?? []).filter(isOwn)) {
      const path = `${collectionPath(resource, metadata.namespace)}/${metadata.name}`;
      if (placeOf(path) === undefined) continue;
      const free = { metadata: { finalizers: null } };
      await client.send({ method: 'PATCH', path, body: free, patch: { kind: 'merge' } }, signal);
      const now = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
      await client.send({ method: 'DELETE', path, body: now }, signal);
    }
  }
}
