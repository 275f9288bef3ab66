import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { describe, it } from 'node:test';
import { findNodeName, rememberNodeName } from '../../../src/agent/node-name.ts';
import type { KubeletFacts } from '../../../src/decide/machine/kubelet-config.ts';
import type { ClusterAccess } from '../../../src/kube/access/cluster.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { openTestState } from '../../support/agent/state.ts';
import { makeTestFolder } from '../../support/folder.ts';

interface Known {
  readonly configured?: string;
  /** The user name that the API server answers with; undefined where it does not answer. */
  readonly user?: string;
  /** What the running kubelet was started with; undefined while none runs. */
  readonly kubelet?: { readonly hostnameOverride?: string };
  readonly remembered?: string;
}

const ACCESS = { server: new URL('https://api.example:6443'), authenticate: () => Promise.resolve() };

async function nameOf(
  { configured, user, kubelet, remembered }: Known,
  access: ClusterAccess = ACCESS,
): Promise<string> {
  const state = await openTestState(await makeTestFolder('name'));
  if (remembered !== undefined) await rememberNodeName(state, remembered);
  const client: Partial<KubeClient> = {
    send: () => {
      if (user === undefined) return Promise.reject(new Error('no answer'));
      return Promise.resolve({ status: 201, headers: {}, body: { status: { userInfo: { username: user } } } });
    },
  };
  const sources = {
    config: configured === undefined ? {} : { nodeName: configured },
    api: { access, client: client as KubeClient },
    kubelets: { config: () => Promise.resolve(kubelet as KubeletFacts | undefined) },
    state,
  };
  return await findNodeName(sources, AbortSignal.timeout(60_000));
}

describe('the name of the node', () => {
  const ofHost = hostname().toLowerCase();
  const kubelet = { hostnameOverride: 'of-kubelet' };
  const remembered = 'of-yesterday';
  const user = 'system:node:of-api';
  const cases: readonly [string, Known, string][] = [
    ['as it is configured', { configured: 'a', user, kubelet, remembered }, 'a'],
    ['who the API server says that we are', { user, kubelet, remembered }, 'of-api'],
    [
      'as the kubelet was told, where we are no node',
      { user: 'system:serviceaccount:a:b', kubelet, remembered },
      'of-kubelet',
    ],
    ['as the kubelet was told, where the API server is silent', { kubelet, remembered }, 'of-kubelet'],
    ['the one that is remembered, where nobody tells it', { remembered }, remembered],
    ["the host's, by which a kubelet goes that was told nothing", { kubelet: {} }, ofHost],
    ["the host's, where nothing is known", {}, ofHost],
  ];
  it('the name of the node waits no longer for a program that gives credentials and hangs', async () => {
    const hanging = { server: ACCESS.server, authenticate: () => new Promise<never>(() => undefined) };
    assert.equal(await nameOf({ user, kubelet }, hanging), 'of-kubelet');
  });

  for (const [what, known, name] of cases) {
    it(`the name of the node is ${what}`, async () => {
      assert.equal(await nameOf(known), name);
    });
  }
});
