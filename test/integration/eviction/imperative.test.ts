import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { decideEvictionOutcome } from '../../../src/decide/eviction/api-answer.ts';
import { objectPath, PODS } from '../../../src/kube/resource.ts';
import { statusCauses, statusMessage } from '../../../src/kube/request.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { freePort } from '../../control-plane/port.ts';
import { entryOf, hasEnded } from '../../support/eviction/actors.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const DRAINER = 'drainer.example.com';

describe('imperative eviction on a real API server', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  const budget = (name: string, app: string, spec: object): object => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { ...spec, selector: { matchLabels: { app } } },
  });

  /** A pod that counts as healthy: PodDisruptionBudgets do not protect one that is pending. */
  const createHealthyPod = async (name: string, annotations: Record<string, string> = {}): Promise<Pod> => {
    const pod = await rig.createPod(name, annotations);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    const patch = ['patch', 'pod', name, '--subresource=status', '-p', JSON.stringify({ status })];
    await rig.controlPlane.kubectl(patch);
    return pod;
  };

  const isTerminating = async (name: string): Promise<boolean> =>
    (await rig.getPod(name))?.metadata.deletionTimestamp !== undefined;

  const messageOf = async (pod: Pod): Promise<string> => entryOf(await rig.get(pod), IMPERATIVE)?.message ?? '';

  /** Waits at most two seconds, as is promised where a budget changes. */
  const assertEvictedAtOnce = async (name: string): Promise<void> => {
    await waitFor(`${name} is evicted within 2 s`, () => isTerminating(name), { timeoutMs: 2_000 });
  };

  it('Test the eviction backoff if the API-initiated eviction is blocked by a PDB. Check that the eviction terminates the pod once PDB stops blocking the disruption', async () => {
    const port = await freePort();
    const controller = await rig.startController({ metricsAddress: `127.0.0.1:${port}` });
    const readMetrics = async (): Promise<string> => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const pod = await createHealthyPod('guarded');
    await apply(budget('guard', 'guarded', { maxUnavailable: 0 }));
    await rig.request(pod, DRAINER);
    await waitFor('three attempts', async () => (await messageOf(pod)).includes('number of retries: 3.'));
    const message = await messageOf(pod);
    assert.match(
      message,
      /^Could not evict a pod due to failing eviction requests, number of retries: 3\. Blocked by PodDisruptionBudget guard: /,
    );
    assert.equal(await isTerminating('guarded'), false);
    let metrics = '';
    const isIdle = async (): Promise<boolean> => {
      metrics = await readMetrics();
      return /^workqueue_depth\{name="evictionrequests"\} 0$/m.test(metrics);
    };
    await waitFor('nothing is queued', isIdle);
    assert.match(metrics, /^evictionrequest_controller_imperative_evictions_total\{outcome="blocked"\} 3$/m);
    assert.match(
      metrics,
      /^evictionrequest_controller_active_interceptor\{interceptor="imperative-eviction.k8s.io"\} 1$/m,
    );
    assert.match(metrics, /^evictionrequest_controller_active_requester\{requester="drainer.example.com"\} 1$/m);
    const events = await rig.controlPlane.kubectl([
      'get',
      'events',
      '--field-selector=reason=EvictionBlocked',
      '-o',
      'jsonpath={range .items[*]}{.involvedObject.kind} {.message}{"\\n"}{end}',
    ]);
    assert.equal(events, 'EvictionRequest The eviction of pod guarded is blocked by PodDisruptionBudget guard.\n');
    // The next attempt would come in 8 s.
    await rig.controlPlane.kubectl(['delete', 'pdb', 'guard']);
    await assertEvictedAtOnce('guarded');
    await rig.endPod('guarded');
    await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
    const said = await readMetrics();
    assert.match(said, /^evictionrequest_controller_imperative_evictions_total\{outcome="accepted"\} 1$/m);
    await controller.stop();
  });

  it('a budget whose pods have an owner without a scale is named as one that cannot be counted, and the count goes on after a restart', async () => {
    const first = await rig.startController();
    const odd = await createHealthyPod('odd');
    const uid = await rig.controlPlane.kubectl(['get', 'cm', 'kube-root-ca.crt', '-o', 'jsonpath={.metadata.uid}']);
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'kube-root-ca.crt', uid, controller: true };
    const owned = JSON.stringify({ metadata: { ownerReferences: [owner] } });
    await rig.controlPlane.kubectl(['patch', 'pod', 'odd', '--type=merge', '-p', owned]);
    await apply(budget('odd', 'odd', { maxUnavailable: 1 }));
    await rig.request(odd, DRAINER);
    const broken =
      /PodDisruptionBudget odd, which cannot be counted \(.*scale.*\); give it minAvailable as a number\.$/;
    await waitFor('the budget is named', async () => broken.test(await messageOf(odd)));
    await apply(budget('odd', 'odd', { minAvailable: 0, maxUnavailable: null }));
    await waitFor('it is evicted', () => isTerminating('odd'));
    const pod = await createHealthyPod('counted');
    await apply(budget('count', 'counted', { maxUnavailable: 0 }));
    await rig.request(pod, DRAINER);
    await waitFor('two attempts', async () => (await messageOf(pod)).includes('number of retries: 2.'));
    await first.stop();
    const second = await rig.startController();
    await waitFor('the third', async () => (await messageOf(pod)).includes('number of retries: 3.'));
    await rig.controlPlane.kubectl(['delete', 'pdb', 'count']);
    await assertEvictedAtOnce('counted');
    await second.stop();
  });

  it('the controller names both budgets of a pod that has two, and evicts the pod when one of them is gone', async () => {
    const controller = await rig.startController();
    const pod = await createHealthyPod('twice');
    await apply(budget('one', 'twice', { minAvailable: 0 }));
    await apply(budget('two', 'twice', { minAvailable: 0 }));
    await waitFor('the controller manager has counted', async () => {
      const counts = await rig.controlPlane.kubectl([
        'get',
        'pdb',
        'one',
        '-o',
        'jsonpath={.status.disruptionsAllowed}',
      ]);
      return counts === '1';
    });
    await rig.request(pod, DRAINER);
    const both = 'PodDisruptionBudget one, two: no pod is evicted that more than one of them selects';
    await waitFor('refused', async () => (await messageOf(pod)).includes(both));
    await rig.controlPlane.kubectl(['delete', 'pdb', 'one']);
    await assertEvictedAtOnce('twice');
    await controller.stop();
  });

  it('the controller does not take rate limiting for a budget', async () => {
    const flow = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', metadata: { name: 'no-evictions' } };
    const subject = {
      kind: 'ServiceAccount',
      serviceAccount: { name: 'nodemaint-controller', namespace: 'nodemaint-system' },
    };
    const rule = { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'], namespaces: ['*'] };
    const limited = {
      nominalConcurrencyShares: 0,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    };
    await apply({ ...flow, kind: 'PriorityLevelConfiguration', spec: { type: 'Limited', limited } });
    await apply({
      ...flow,
      kind: 'FlowSchema',
      spec: {
        priorityLevelConfiguration: { name: 'no-evictions' },
        matchingPrecedence: 2,
        rules: [{ subjects: [subject], resourceRules: [rule] }],
      },
    });
    const pod = await createHealthyPod('limited');
    // A level without seats still serves one request at a time: one for a pending pod whose UID is wrong occupies it
    // for ten seconds.
    const pending = await rig.createPod('occupant');
    const client = createKubeClient(await loadClusterAccess(rig.controllerKubeconfig), 'occupant');
    const path = objectPath(PODS, pending.metadata, 'eviction');
    const kind = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'occupant', namespace: 'default' } };
    const body = { ...kind, deleteOptions: { preconditions: { uid: crypto.randomUUID() } } };
    const uid = await rig.controlPlane.kubectl(['get', 'flowschema', 'no-evictions', '-o', 'jsonpath={.metadata.uid}']);
    await waitFor('the limit is in force', async () => {
      const probe = { method: 'POST', path: `${path}?dryRun=All`, body: kind } as const;
      const { headers } = await client.send(probe, AbortSignal.timeout(20_000));
      return headers['x-kubernetes-pf-flowschema-uid'] === uid;
    });
    const occupied = client.send({ method: 'POST', path, body }, AbortSignal.timeout(30_000));
    const controller = await rig.startController();
    await rig.request(pod, DRAINER);
    await waitFor('asked to slow down', async () =>
      (await messageOf(pod)).startsWith('The API server asks to slow down'),
    );
    assert.doesNotMatch(await messageOf(pod), /number of retries/);
    assert.equal((await occupied).status, 409);
    client.close();
    await waitFor('evicted', () => isTerminating('limited'));
    await controller.stop();
    await rig.controlPlane.kubectl(['delete', 'flowschema', 'no-evictions']);
  });

  it('the controller leaves the pods of a terminating namespace to the namespace', async () => {
    const meta = { name: 'keep-pods' };
    const apiGroups = ['', 'coordination.x-k8s.io'];
    const resources = ['pods', 'evictionrequests'];
    const rules = [{ apiGroups, apiVersions: ['v1', 'v1alpha1'], operations: ['DELETE'], resources }];
    const byNamespaces = 'system:serviceaccount:kube-system:namespace-controller';
    const policy = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: meta };
    const validations = [{ expression: `request.userInfo.username != '${byNamespaces}'` }];
    await apply({ ...policy, spec: { matchConstraints: { resourceRules: rules }, validations } });
    const kind = 'ValidatingAdmissionPolicyBinding';
    await apply({ ...policy, kind, spec: { policyName: 'keep-pods', validationActions: ['Deny'] } });
    await rig.controlPlane.kubectl(['create', 'namespace', 'ending']);
    await rig.controlPlane.kubectl(['create', 'serviceaccount', '-n', 'ending', 'x']);
    const made = await rig.createPod('last', {}, {}, 'ending');
    await rig.request(made, DRAINER);
    await new Promise((resolve) => {
      setTimeout(resolve, 2_000); // For the policy to be compiled.
    });
    await rig.controlPlane.kubectl(['delete', 'namespace', 'ending', '--wait=false']);
    const controller = await rig.startController();
    await waitFor(
      'postponed',
      async () => (await messageOf(made)) === 'The namespace is being deleted, and the pod with it.',
    );
    await rig.controlPlane.kubectl(['delete', 'validatingadmissionpolicybinding', 'keep-pods']);
    await controller.stop();
  });

  it('the controller sees in the answer that the name belongs to another pod', async () => {
    const pod = await rig.createPod('other');
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'other', namespace: 'default' },
      deleteOptions: { preconditions: { uid: crypto.randomUUID() } },
    };
    const path = objectPath(PODS, pod.metadata, 'eviction');
    const response = await rig.client.send({ method: 'POST', path, body }, AbortSignal.timeout(25_000));
    const answer = { status: response.status, message: statusMessage(response), causes: statusCauses(response) };
    const context = { attempt: 1, postponed: 0, evictOnly: false, promiseWords: [], budgets: [] };
    assert.equal(answer.status, 409);
    assert.equal(decideEvictionOutcome(answer, context).kind, 'gone');
    assert.equal(await isTerminating('other'), false);
  });

  it('the controller leaves a pod with the evict policy ControllerTakeOver to its own controller, then falls back', async () => {
    const policy = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
    const wanted = async (name: string): Promise<string | undefined> =>
      (await rig.getPod(name))?.metadata.annotations?.['kubernetes.io/pod-evict-wanted'];
    const controller = await rig.startController({ takeOverTimeout: '3s' });
    const pod = await rig.createPod('taken', policy);
    const other = await rig.createPod('spared', policy);
    await rig.request(pod, DRAINER);
    await rig.request(other, DRAINER);
    await waitFor('marked', async () => (await wanted('taken')) === 'true' && (await wanted('spared')) === 'true');
    const isSaid = async (): Promise<boolean> =>
      /is left to its controller \(ControllerTakeOver\) until/.test(await messageOf(pod));
    await waitFor('that is said', isSaid, { timeoutMs: 2_500 });
    assert.equal(await isTerminating('taken'), false);
    await rig.withdraw(other, DRAINER);
    await waitFor('the mark is taken back', async () => (await wanted('spared')) === undefined);
    await waitFor('evicted after the time-out', () => isTerminating('taken'), { timeoutMs: 6_000 });
    assert.equal(await isTerminating('spared'), false);
    await controller.stop();
  });
});
