/** Two real nodes, real endpoints, and clients that send requests to two Services while one of the nodes is drained. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { TEST_IMAGE } from '../../node/images.ts';
import { startNode } from '../../node/node.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig } from '../../support/rigs/eviction.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const LABEL = 'nodemaintenance.x-k8s.io/traffic';
const PORT = 8080;
/** A proxy of Services follows its EndpointSlices a second late at the most (minSyncPeriod of kube-proxy). */
const LATE_MS = 1_000;
const DRAIN_SEC = 6;

/** A web server that closes everything the moment it is told to end, as many do. */
const SERVER = `mkdir /tmp/www; echo hello > /tmp/www/index.html
httpd -f -p ${PORT} -h /tmp/www &
trap "kill $!; exit 0" TERM; while :; do wait; done`;

/** Two web servers, each on a node of its own, and their Service. */
function webObjects(name: string, optsIn: boolean): readonly object[] {
  const selector = { app: name };
  const opts = optsIn ? { [LABEL]: 'serve' } : {};
  const annotations = optsIn ? { 'nodemaintenance.x-k8s.io/traffic-drain': `${DRAIN_SEC}s` } : {};
  const apart = { labelSelector: { matchLabels: selector }, topologyKey: 'kubernetes.io/hostname' };
  const spec = {
    terminationGracePeriodSeconds: 5,
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } },
    containers: [{ name: 'main', image: TEST_IMAGE, imagePullPolicy: 'Never', command: ['/bin/sh', '-c', SERVER] }],
  };
  const template = { metadata: { labels: { ...selector, ...opts }, annotations }, spec };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: { replicas: 2, selector: { matchLabels: selector }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: { ...selector, ...opts }, ports: [{ port: PORT }] },
    },
  ];
}

interface Slices {
  readonly items: readonly {
    readonly endpoints:
      | readonly { readonly addresses: readonly string[]; readonly conditions: { ready?: boolean } }[]
      | null;
  }[];
}

/** The addresses to which a proxy of the Service sends new connections. */
async function readyAddresses({ kubectl }: ControlPlane, service: string): Promise<readonly string[]> {
  const selector = `--selector=kubernetes.io/service-name=${service}`;
  const { items } = JSON.parse(await kubectl(['get', 'endpointslices', selector, '-o', 'json'])) as Slices;
  return items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions.ready !== false)
    .flatMap(({ addresses }) => addresses);
}

function isAnswered(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ host: address, port: PORT, path: '/', agent: false, timeout: 3_000 }, (response) => {
      response.resume();
      response.on('end', () => {
        resolve(response.statusCode === 200);
      });
      response.on('error', () => {
        resolve(false);
      });
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => {
      resolve(false);
    });
  });
}

/** What a client of a Service saw. */
interface Client {
  readonly sent: number;
  readonly lost: number;
}

/** Sends requests to all ready endpoints of a Service in turn until it is told to stop; it follows them late, as proxies do. */
async function runClient(controlPlane: ControlPlane, service: string, signal: AbortSignal): Promise<Client> {
  let addresses = await readyAddresses(controlPlane, service);
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const seen = await readyAddresses(controlPlane, service);
      await delay(LATE_MS);
      addresses = seen;
    }
  };
  const following = follow();
  const answers: Promise<boolean>[] = [];
  while (!signal.aborted) {
    const address = addresses[answers.length % Math.max(1, addresses.length)];
    answers.push(address === undefined ? Promise.resolve(false) : isAnswered(address));
    await delay(20);
  }
  await following;
  const lost = (await Promise.all(answers)).filter((answered) => !answered).length;
  return { sent: answers.length, lost };
}

describe('the requests to a Service with a pod on a node that is drained', () => {
  it('no request is lost where the pods opt in, and some are lost where they do not', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await buildEvictionRig());
    const { controlPlane } = rig;
    const { kubectl } = controlPlane;
    const signal = AbortSignal.timeout(200_000);
    await kubectl(['delete', 'node', 'node-z']);
    const nodes = ['node-x', 'node-y'].map(async (name) => stack.use(await startNode(controlPlane, name, signal)));
    await Promise.all(nodes);
    for (const object of [...webObjects('with', true), ...webObjects('without', false)]) {
      await kubectl(['apply', '-f', '-'], JSON.stringify(object));
    }
    const answer = async (): Promise<boolean> => {
      const addresses = (
        await Promise.all(['with', 'without'].map((each) => readyAddresses(controlPlane, each)))
      ).flat();
      return addresses.length === 4 && (await Promise.all(addresses.map(isAnswered))).every(Boolean);
    };
    await waitFor('both pods of both Services answer', answer, SLOW);
    await rig.startController();

    const stop = new AbortController();
    const clients = ['with', 'without'].map((service) => runClient(controlPlane, service, stop.signal));
    await delay(1_000);
    await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('shutdown', ['node-x'])));
    const onNode = ['get', 'pods', '-o', 'name', '--field-selector=spec.nodeName=node-x'];
    const out = async (): Promise<string> => await kubectl(['get', 'pods', '-o', 'name', '-l', `${LABEL}=drain`]);
    await waitFor('the pod that opts in has left its Service', async () => (await out()) !== '', SLOW);
    await waitFor(
      'its endpoints are down to one',
      async () => (await readyAddresses(controlPlane, 'with')).length === 1,
    );
    await waitFor('all pods of the node are gone', async () => (await kubectl(onNode)) === '', SLOW);
    await delay(2 * LATE_MS);
    stop.abort();
    const [kept, lossy] = await Promise.all(clients);
    console.log('requests', { with: kept, without: lossy });
    assert.ok((kept?.sent ?? 0) > 100, 'the client has sent requests all the time');
    assert.equal(kept?.lost, 0);
    assert.ok((lossy?.lost ?? 0) > 0, 'without the opt-in some are lost, so that the test can see it');
  });
});
