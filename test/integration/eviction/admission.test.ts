import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { collectionPath, EVICTION_REQUESTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  create,
  firstStatus,
  MAY_REQUEST,
  pathOf,
  read,
  requestFor,
  send,
} from '../../support/rigs/admission.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';
import { INTERCEPTOR_ANNOTATION_PREFIXES, RESERVED_INTERCEPTORS } from '../../../src/api/names.ts';
import type { KubeResponse } from '../../../src/kube/client.ts';

const LABEL_63 = 'a'.repeat(63);
const LENGTH_253 = `${LABEL_63}.${LABEL_63}.${LABEL_63}.${'a'.repeat(61)}`;

const MAY_DELETE_WEB = { apiGroups: [''], resources: ['pods'], verbs: ['delete'], resourceNames: ['web'] };

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
  const isWarned = async (): Promise<boolean> => warnings(await createPod({ [`${PREFIX}single`]: '1' })) !== '';
  await waitFor('the policy is in force', isWarned, { timeoutMs: 20_000 });
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

function uid(): string {
  return crypto.randomUUID();
}

async function made(): Promise<string> {
  const name = uid();
  assertAllowed(await create(rig.admin, requestFor('web', name)));
  return name;
}

async function patchSpec(name: string, spec: object): ReturnType<typeof send> {
  return await send(rig.admin, { method: 'PATCH', path: pathOf(name), body: { spec }, patch: { kind: 'merge' } });
}

describe('the name and the target of an EvictionRequest', () => {
  it('the API server refuses a name that is not the UID of the target', async () => {
    const body = requestFor('web', uid(), {}, { name: 'web' });
    assertRefused(await create(rig.admin, body), /metadata.name must be the UID of the target, spec.target.pod.uid/);
    assertAllowed(await create(rig.admin, requestFor('web', uid())));
  });

  it('the API server refuses generateName, alone and beside the right name', async () => {
    const name = uid();
    const beside = requestFor('web', name, {}, { generateName: 'web-' });
    assertRefused(await create(rig.admin, beside), /metadata.generateName is not supported/);
    const alone = requestFor('web', name, {}, { name: undefined, generateName: 'web-' });
    assertRefused(await create(rig.admin, alone), /metadata.generateName is not supported/);
    assertAllowed(await create(rig.admin, requestFor('web', name)));
  });

  it('the API server refuses another target for a request that exists, and lets everything else of its spec change', async () => {
    const name = await made();
    assertRefused(await patchSpec(name, { target: { pod: { name: 'other' } } }), /target is immutable/);
    assertRefused(await patchSpec(name, { target: { pod: { uid: uid() } } }), /target is immutable/);
    assertRefused(await patchSpec(name, { target: null }), /spec.target: Required value/);
    assertAllowed(await patchSpec(name, { requesters: [{ name: 'another.example.com' }] }));
  });

  it('the API server refuses a target without a pod, or a pod without a name or a UID', async () => {
    const name = uid();
    assertRefused(await create(rig.admin, requestFor('web', name, { target: {} })), /pod: Required value/);
    assertRefused(await create(rig.admin, requestFor('', name)), /pod.name: Invalid value/);
    const noUid = requestFor('web', name, { target: { pod: { name: 'web' } } });
    assertRefused(await create(rig.admin, noUid), /pod.uid: Required value/);
  });

  it('the API server sets the status of a new request to empty', async () => {
    const name = uid();
    const body = { ...requestFor('web', name), status: firstStatus(['imperative-eviction.k8s.io']) };
    assertAllowed(await create(rig.admin, body));
    assert.equal((await read(rig.admin, name)).status, undefined);
  });
});

describe('the requesters of an EvictionRequest', () => {
  it('the API server refuses a new request without a requester, and lets the last one withdraw later', async () => {
    const words = /at least one requester is required when creating an eviction request/;
    assertRefused(await create(rig.admin, requestFor('web', uid(), { requesters: [] })), words);
    assertRefused(await create(rig.admin, requestFor('web', uid(), { requesters: undefined })), words);
    assertAllowed(await patchSpec(await made(), { requesters: [] }));
    assertAllowed(await patchSpec(await made(), { requesters: null }));
  });

  it('the API server refuses names that are not fully qualified, and takes the longest and the shortest that are', async () => {
    const labels = ['Upper', 'under_score', '-a', 'a-', 'a.', '', 'a b', 'ä', 'a'.repeat(64)];
    const refused = labels.map((label) => `${label}.example.com`);
    for (const name of ['single', 'a.example.com.', 'a.example.com/evil', ...refused]) {
      const body = requestFor('web', uid(), { requesters: [{ name }] });
      assertRefused(await create(rig.admin, body), /must be a fully qualified domain name in lower case/);
    }
    const tooLong = requestFor('web', uid(), { requesters: [{ name: `a${LENGTH_253}` }] });
    assertRefused(await create(rig.admin, tooLong), /may not be more than 253/);
    for (const name of ['a.b', '1.2', 'nodemaintenance.k8s.io', `${LABEL_63}.example.com`, LENGTH_253]) {
      assertAllowed(await create(rig.admin, requestFor('web', uid(), { requesters: [{ name }] })));
    }
  });

  it('the API server refuses a requester twice, and the hundred and first requester', async () => {
    const twice = [{ name: 'a.example.com' }, { name: 'a.example.com' }];
    assertRefused(await create(rig.admin, requestFor('web', uid(), { requesters: twice })), /Duplicate value/);
    const many = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ name: `r-${index}.example.com` }));
    const tooMany = requestFor('web', uid(), { requesters: many(101) });
    assertRefused(await create(rig.admin, tooMany), /must have at most 100 items/);
    assertAllowed(await create(rig.admin, requestFor('web', uid(), { requesters: many(100) })));
  });
});

describe('the rights of a requester', () => {
  it('a requester must be allowed to delete the pod to create, change or delete its request', async () => {
    const client = await rig.user('mallory', [MAY_REQUEST]);
    const refused = (verb: string): RegExp =>
      new RegExp(`mallory may not ${verb} this EvictionRequest, because it may not delete pod default/web`, 'u');
    assertRefused(await create(client, requestFor('web', uid())), refused('create'));
    const name = await made();
    const before = await read(rig.admin, name);
    const body = { spec: { requesters: [] } };
    const path = pathOf(name);
    assertRefused(await send(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }), refused('update'));
    const labels = { metadata: { labels: { app: 'evil' } } };
    assertRefused(
      await send(client, { method: 'PATCH', path, body: labels, patch: { kind: 'merge' } }),
      refused('update'),
    );
    assertRefused(await send(client, { method: 'DELETE', path }), refused('delete'));
    const all = collectionPath(EVICTION_REQUESTS, 'default');
    assertRefused(await send(client, { method: 'DELETE', path: all }), /mallory may not delete this EvictionRequest/);
    assert.deepEqual(await read(rig.admin, name), before);
  });

  it('a requester needs the right to delete for the one pod in its namespace, and no more', async () => {
    const client = await rig.user('drainer', [MAY_REQUEST, MAY_DELETE_WEB]);
    const name = uid();
    assertAllowed(await create(client, requestFor('web', name)));
    const body = { spec: { requesters: [] } };
    assertAllowed(await send(client, { method: 'PATCH', path: pathOf(name), body, patch: { kind: 'merge' } }));
    assertAllowed(await send(client, { method: 'DELETE', path: pathOf(name) }));
    assertRefused(await create(client, requestFor('web-2', uid())), /it may not delete pod default\/web-2/);
  });

  it('only who coordinates requests asks in the name of drains, or takes that back; a request may be deleted', async () => {
    const client = await rig.user('tenant', [MAY_REQUEST, MAY_DELETE_WEB]);
    const [drains, other] = [{ name: 'nodemaintenance.k8s.io' }, { name: 'a.example.com' }];
    const words = /tenant may not add or remove the requester nodemaintenance.k8s.io, .* complete the maintenance/;
    assertRefused(await create(client, requestFor('web', uid(), { requesters: [drains] })), words);
    const name = uid();
    assertAllowed(await create(rig.controller, requestFor('web', name, { requesters: [drains] })));
    const path = pathOf(name);
    const write = (requesters: readonly object[]): ReturnType<typeof send> =>
      send(client, { method: 'PATCH', path, body: { spec: { requesters } }, patch: { kind: 'merge' } });
    for (const requesters of [[], [other]]) assertRefused(await write(requesters), words);
    for (const requesters of [[drains, other], [drains]]) assertAllowed(await write(requesters));
    assertAllowed(await send(client, { method: 'DELETE', path }));
  });

  it('a requester may be any user with the role edit in the namespace, while the role view only reads', async () => {
    for (const role of ['edit', 'view']) {
      await rig.controlPlane.kubectl(['create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}or`]);
    }
    const path = collectionPath(EVICTION_REQUESTS, 'default');
    const editor = await rig.user('editor', []);
    const viewer = await rig.user('viewor', []);
    const can = async (...args: string[]): Promise<string> =>
      await rig.controlPlane.kubectl(['auth', 'can-i', ...args]).catch(String);
    // The roles are aggregated by the controller manager, some time after the manifests are installed.
    const aggregated = async (): Promise<boolean> =>
      (await can('create', 'evictionrequests', '--as=editor')).startsWith('yes') &&
      (await can('list', 'evictionrequests', '--as=viewor')).startsWith('yes');
    await waitFor('the roles are aggregated', aggregated, { timeoutMs: 20_000 });
    const name = uid();
    assertAllowed(await send(viewer, { method: 'GET', path }));
    assertRefused(await create(viewer, requestFor('web', name)), /viewor.* cannot create resource "evictionrequests"/);
    assertRefused(await create(editor, requestFor('web', uid()), 'kube-system'), /editor.* cannot create resource/);
    assertAllowed(await create(editor, requestFor('web', name)));
    const status = { method: 'PATCH', path: pathOf(name, 'status'), body: {}, patch: { kind: 'merge' } } as const;
    assertRefused(await send(editor, status), /editor.* cannot patch resource "evictionrequests\/status"/);
    assertAllowed(await send(editor, { method: 'DELETE', path: pathOf(name) }));
  });
});

describe('the cluster itself', () => {
  it('the namespace controller deletes a namespace that has EvictionRequests', async () => {
    await rig.controlPlane.kubectl(['create', 'namespace', 'doomed']);
    assertAllowed(await create(rig.admin, requestFor('web', uid(), {}, { namespace: 'doomed' }), 'doomed'));
    await rig.controlPlane.kubectl(['delete', 'namespace', 'doomed', '--timeout=300s']);
  });

  it('the garbage collector collects an EvictionRequest whose owner is gone', async () => {
    const { kubectl } = rig.controlPlane;
    const owner = JSON.parse(await kubectl(['create', 'configmap', 'owner', '-o', 'json'])) as {
      metadata: { uid: string };
    };
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid };
    const name = uid();
    assertAllowed(await create(rig.admin, requestFor('web', name, {}, { ownerReferences: [reference] })));
    await kubectl(['delete', 'configmap', 'owner']);
    await kubectl(['wait', '--for=delete', `evictionrequest/${name}`, '--timeout=300s']);
  });
});

describe('kubectl', () => {
  it('kubectl explains the fields in the words of the KEP, lists requests by pod, and knows the short names', async () => {
    const { kubectl } = rig.controlPlane;
    const all = await kubectl(['explain', 'evictionrequest', '--recursive']);
    for (const field of ['requesters', 'targetInterceptors', 'activeInterceptors', 'processedInterceptors']) {
      assert.match(all, new RegExp(`^ +${field}\\t<\\[\\]`, 'mu'));
    }
    const entry = await kubectl(['explain', 'evictionrequest.status.interceptors']);
    assert.match(entry, /^ {2}completionTime\t<string>\n +CompletionTime tracks the time at which the interceptor/mu);
    assert.match(entry, /^ {2}message\t<string> -required-$/mu);
    const name = uid();
    assertAllowed(await create(rig.admin, requestFor('listed', name)));
    const table = await kubectl(['get', 'evreq', '--field-selector', 'spec.target.pod.name=listed']);
    assert.match(table, /^NAME +POD +ACTIVE +REQUESTERS +CONDITIONS +AGE\n/u);
    assert.match(table, new RegExp(`\\n${name} +listed +drainer.example.com +\\S+\\n$`, 'u'));
    await eventually(async () => {
      assert.match(await kubectl(['get', 'nodemaint']), new RegExp(name, 'u'));
    });
    assert.doesNotMatch(await kubectl(['get', 'all']), /evictionrequest/u);
  });
});

const [PREFIX, OLD_PREFIX] = INTERCEPTOR_ANNOTATION_PREFIXES;

async function createPod(
  annotations: Readonly<Record<string, string>>,
  name = crypto.randomUUID(),
): Promise<KubeResponse> {
  const spec = { containers: [{ name: 'main', image: 'none.invalid/none' }] };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations }, spec };
  return await send(rig.admin, { method: 'POST', path: '/api/v1/namespaces/default/pods', body });
}

/** What the API server warns of; the pod is there all the same. */
function warnings(response: KubeResponse): string {
  assertAllowed(response);
  return String(response.headers['warning'] ?? '');
}

describe('a pod that names its interceptors by annotations', () => {
  it('the API server gives no warning where the names and priorities are right', async () => {
    const right = { [`${PREFIX}a.example.com`]: '10000/controller', [`${OLD_PREFIX}c.example.com`]: '100000/' };
    const others = { [`${PREFIX}b.example.com`]: '0', 'example.com/priority_single': 'x' };
    assert.equal(warnings(await createPod({ ...right, ...others })), '');
    const allowed = RESERVED_INTERCEPTORS.filter((name) => name.length <= 54);
    const annotations = Object.fromEntries(allowed.map((name) => [`${PREFIX}${name}`, '10000/controller']));
    assert.equal(warnings(await createPod(annotations)), '');
  });

  it('the API server warns of names that are not fully qualified, under either prefix', async () => {
    for (const prefix of INTERCEPTOR_ANNOTATION_PREFIXES) {
      for (const name of ['single', 'Upper.example.com', 'under_score.example.com', 'a-.example.com']) {
        const words = `this interceptor annotation will be ignored, because its name is not a fully qualified domain name in lower case, such as foo.example.com: ${prefix}${name}`;
        const said = warnings(await createPod({ [prefix + name]: '1/controller' }));
        assert.ok(said.includes(words), `${name}: ${said}`);
      }
    }
  });

  it('the API server warns of names in the reserved domains that are on no list', async () => {
    for (const name of ['evil.k8s.io', 'k8s.io', 'x.kubelet.k8s.io', 'a.kubernetes.io']) {
      const words = `this interceptor annotation will be ignored, because names in k8s.io and kubernetes.io are reserved: ${PREFIX}${name}`;
      const said = warnings(await createPod({ [PREFIX + name]: '1/controller' }));
      assert.ok(said.includes(words), `${name}: ${said}`);
    }
    assert.equal(warnings(await createPod({ [`${PREFIX}evilk8s.io`]: '1/controller' })), '');
  });

  it('the API server warns of an evict policy that is none', async () => {
    const key = 'coordination.x-k8s.io/evict-policy';
    const words =
      'the annotation coordination.x-k8s.io/evict-policy will be ignored, because the policies are Default and ControllerTakeOver';
    for (const policy of ['controllerTakeOver', 'ControllerTakeover', '']) {
      assert.ok(warnings(await createPod({ [key]: policy })).includes(words), policy);
    }
    for (const policy of ['Default', 'ControllerTakeOver']) {
      assert.equal(warnings(await createPod({ [key]: policy })), '');
      const named = warnings(await createPod({ [key]: policy, [`${PREFIX}single`]: '1' }));
      assert.match(named, /not a fully qualified domain name/);
    }
  });

  it('the API server warns of values that begin with no priority from 0 to 100000', async () => {
    for (const value of ['', 'high', '/controller', '-1/controller', '100001', '1000000', '1.5/controller', '01']) {
      const said = warnings(await createPod({ [`${PREFIX}a.example.com`]: value }));
      const words = `this interceptor annotation will be ignored, because it has no priority from 0 to 100000, such as 10000/controller: ${PREFIX}a.example.com`;
      assert.ok(said.includes(words), `${value}: ${said}`);
    }
  });

  it('the API server warns of more than 14 interceptors', async () => {
    const many = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${PREFIX}i-${index}.example.com`, '1/x']));
    assert.equal(warnings(await createPod(many(14))), '');
    const said = warnings(await createPod(many(15)));
    assert.match(said, /at most 14 interceptors, and those of the lowest priorities will be ignored: it names 15/);
  });

  it('the API server warns when the annotations change, and not at every other change', async () => {
    const name = crypto.randomUUID();
    assertAllowed(await createPod({ [`${PREFIX}single`]: '1' }, name));
    const path = objectPath(PODS, { name, namespace: 'default' });
    const patch = async (metadata: object): Promise<KubeResponse> =>
      await send(rig.admin, { method: 'PATCH', path, body: { metadata }, patch: { kind: 'merge' } });
    assert.equal(warnings(await patch({ labels: { app: 'web' } })), '');
    assert.match(warnings(await patch({ annotations: { 'example.com/other': 'x' } })), /priority_single/);
    assert.equal(warnings(await patch({ annotations: { [`${PREFIX}single`]: null } })), '');
  });
});
