import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { INTERCEPTOR_ANNOTATION_PREFIXES, RESERVED_INTERCEPTORS } from '../../../src/api/names.ts';
import type { KubeResponse } from '../../../src/kube/client.ts';
import { objectPath, PODS } from '../../../src/kube/resource.ts';
import { type AdmissionRig, assertAllowed, buildAdmissionRig, send } from '../../support/rigs/admission.ts';
import { waitFor } from '../../support/wait-for.ts';

const [PREFIX, OLD_PREFIX] = INTERCEPTOR_ANNOTATION_PREFIXES;

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
  const isWarned = async (): Promise<boolean> => warnings(await createPod({ [`${PREFIX}single`]: '1' })) !== '';
  await waitFor('the policy is in force', isWarned, { timeoutMs: 20_000 });
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

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
    assert.equal(
      warnings(
        await createPod({
          [`${PREFIX}a.example.com`]: '10000/controller',
          [`${PREFIX}b.example.com`]: '0',
          [`${OLD_PREFIX}c.example.com`]: '100000/',
          'example.com/priority_single': 'x',
        }),
      ),
      '',
    );
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
