/** The cluster of one plan in virtual time: the model of the API server, and what is around the product. */
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { CONTROLLER_USER } from '../../chaos/cluster.ts';
import type { Random } from '../../chaos/random.ts';
import { actOnRequests } from '../../chaos/stand-ins/interceptors.ts';
import { createKubelets } from '../../chaos/stand-ins/kubelets.ts';
import type { Change, Kind, Objects, Timeline } from '../../chaos/timeline.ts';
import { WATCHED } from '../../chaos/timeline.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import type { Account, PerturbationCluster } from '../../perturbation/cluster.ts';
import { createModelServer, type ModelServer } from '../api-server/server.ts';
import { createSimulatedMachine } from '../machine/machine.ts';
import { Network } from '../network.ts';
import { admitted } from '../stand-ins/admission.ts';
import { collectPods, runBudgets, runDaemonSets } from '../stand-ins/controllers.ts';
import type { VirtualTime } from '../time.ts';
import { createRecord } from '../world.ts';

const USERS: Readonly<Record<Account, string>> = {
  controller: CONTROLLER_USER,
  lifecycle: 'system:serviceaccount:nodemaint-system:nodemaint-lifecycle',
  admin: 'admin',
};
/** Stand-ins look so often while something changes. */
const LOOK_MS = 100;
/** Whatever is to follow a change by itself, such as the end of a pod, has come by then. */
const CALM_MS = 1_000;
const CALM_LOOK_MS = 30_000;
/** A drain changes hands when a Lease has expired and an agent has looked at it for some time. */
const PATIENCE_MS = 5 * 60_000;
const ID = 'q1';

/** What the model does not have: namespaces, of which each has its account at once. */
function answerOfNamespace({ method, path }: KubeRequest): KubeResponse | undefined {
  if (!/^\/api\/v1\/namespaces(\/[^/]+)?(\/serviceaccounts\/default)?$/.test(path)) return undefined;
  return { status: method === 'POST' ? 201 : 200, headers: {}, body: { metadata: { name: '' } } };
}

/** The client of a cluster admin, who needs no time. */
function adminOf(server: ModelServer, network: Network): KubeClient {
  return {
    send: (request) => {
      const known = answerOfNamespace(request);
      if (known !== undefined) return Promise.resolve(known);
      const admittedRequest = admitted(server, request);
      const response = server.handle(admittedRequest, USERS.admin);
      network.onAnswer(USERS.admin, admittedRequest, response);
      return Promise.resolve(response);
    },
    watch: network.connect(USERS.admin).client.watch,
    close: () => undefined,
  };
}

/** The changes of the model as a timeline tells them; those after the beginning of a record are in it at once. */
function timelineOf(server: ModelServer): Pick<Timeline, 'record' | 'list'> {
  return {
    record: (owns) => {
      const changes: Change[] = [];
      const end = server.objects.onChange((change) => {
        if (change.kind in WATCHED && owns(change.object)) changes.push(change as typeof change & { kind: Kind });
      });
      return { changes, end };
    },
    list: <K extends Kind>(kind: K) => server.objects.list(kind) as readonly Objects[K][],
  };
}

/** Resolves at the next change, or after `ms` milliseconds. */
async function nextChange(server: ModelServer, time: VirtualTime, ms: number, signal: AbortSignal): Promise<void> {
  const changed = new AbortController();
  const end = server.objects.onChange(() => {
    changed.abort();
  });
  await time.sleep(ms, AbortSignal.any([signal, changed.signal])).catch(() => undefined);
  end();
}

/** Plays what is around the product: each looks while something changes, and at the next change. */
async function play(server: ModelServer, time: VirtualTime, part: ClusterPart, signal: AbortSignal): Promise<void> {
  const kubelets = createKubelets(part);
  let seen = 0;
  let calmSince = time.now();
  while (!signal.aborted) {
    if (server.objects.changes.length !== seen) calmSince = time.now();
    seen = server.objects.changes.length;
    await kubelets.look();
    await runDaemonSets(part, server);
    await collectPods(part);
    await runBudgets(part, server);
    await actOnRequests(part);
    if (time.now() - calmSince < CALM_MS || part.interceptors === 'beats') {
      await time.sleep(LOOK_MS, signal).catch(() => undefined);
    } else await nextChange(server, time, CALM_LOOK_MS, signal);
  }
}

/** Makes the cluster of a plan. */
export function createSimulatedCluster(time: VirtualTime, random: Random): PerturbationCluster {
  const server = createModelServer(time.now, { discovers: true });
  const record = createRecord(time);
  const network = new Network(time, server, random, record.note);
  const client = adminOf(server, network);
  return {
    client,
    timeline: timelineOf(server),
    writes: { read: () => Promise.resolve(record.writes) },
    newId: () => ID,
    isShared: false,
    patienceMs: PATIENCE_MS,
    connect: (as) => network.connect(USERS[as]).client,
    openMachine: (nodeName) => {
      const connect = (): KubeClient => network.connect(`system:node:${nodeName}`).client;
      return Promise.resolve(createSimulatedMachine(time, nodeName, connect));
    },
    play: (part, signal) => play(server, time, part, signal),
  };
}
