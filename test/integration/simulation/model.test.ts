/** The model of the API server that the simulation has answers as a real API server does. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client.ts';
import { createRandom } from '../../chaos/random.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';
import { NAMESPACE } from '../../simulation/contract/call.ts';
import { cleanServer, compareServers } from '../../simulation/contract/play.ts';
import { CHECKOUT } from '../../chaos/product.ts';
import { isThorough } from '../../support/thorough.ts';
import { waitFor } from '../../support/wait-for.ts';

const NEVER = new AbortController().signal;
/** The gate plays the same ones each time: what another one finds must not stop a change that it has nothing to do with. */
const ALWAYS = [2, 3, 5, 6];
/** Another sequence of calls in each run; it is printed, and NODEMAINT_SEED plays it again. */
const FRESH = Number(process.env['NODEMAINT_SEED'] ?? Math.floor(Math.random() * 1e6));
const SEEDS = isThorough('other calls to the model of the API server') ? [1, 4, ...ALWAYS, FRESH] : ALWAYS;
const CALLS = 120;
/** Nobody but the calls changes anything: of the controllers only those run that make the accounts which pods need. */
const QUIET = ['--controllers=serviceaccount-controller,serviceaccount-token-controller,namespace-controller'];

describe('the model of the API server', () => {
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let client: KubeClient;

  before(async () => {
    controlPlane = stack.use(await startControlPlane({ controllerManagerFlags: QUIET }, AbortSignal.timeout(120_000)));
    for (const crd of ['evictionrequest', 'nodemaintenance']) {
      const text = await readFile(path.join(CHECKOUT, 'manifests', 'crds', `${crd}.yaml`), 'utf8');
      await controlPlane.kubectl(['apply', '-f', '-'], text);
      await controlPlane.kubectl([
        'wait',
        '--for=condition=Established',
        `crd/${crd}s.${GROUPS[crd]}`,
        '--timeout=30s',
      ]);
    }
    await controlPlane.kubectl(['create', 'namespace', NAMESPACE]);
    const access = await loadClusterAccess(controlPlane.adminKubeconfig);
    client = createKubeClient(access, 'contract');
    stack.defer(() => client.close());
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`;
    await waitFor('the namespace has its account', async () => {
      return (await client.send({ method: 'GET', path: account }, NEVER)).status === 200;
    });
  });

  after(async () => {
    await stack.disposeAsync();
  });

  for (const seed of SEEDS) {
    it(`the model answers ${CALLS} calls of seed ${seed} as the API server does`, async () => {
      await cleanServer(client, NEVER);
      const model = createModelServer(Date.now);
      const found = await compareServers(model, client, { random: createRandom(seed), length: CALLS }, NEVER);
      assert.equal(found, undefined, `NODEMAINT_SEED=${seed}: ${found}`);
    });
  }
});

const GROUPS: Readonly<Record<string, string>> = {
  evictionrequest: 'coordination.x-k8s.io',
  nodemaintenance: 'nodemaintenance.x-k8s.io',
};
