import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/api/pod.ts';
import { releasePod } from '../../../src/controller/daemon-set/gate.ts';
import { createKubeClient, type KubeClient, type KubeRequest, type KubeResponse } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { ATTACKS_ON_OTHERS, HELD, NODE, NODE_PATH, POD, webPod } from '../../support/attacks/controller/on-others.ts';
import { maintenanceOf } from '../../support/maintenance/objects.ts';
import { podOfDaemonSet } from '../../support/rigs/daemon-set.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';

const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
const GATE = 'nodemaintenance.x-k8s.io/maintenance';
const HELD_FOR = 'nodemaintenance.x-k8s.io/held-for';
const IN_TIME = (): AbortSignal => AbortSignal.timeout(10_000);

describe("the controller's own token", () => {
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let controller: KubeClient;
  const kubectl = (args: readonly string[], input?: string): Promise<string> => controlPlane.kubectl(args, input);
  const make = (object: object): Promise<string> => kubectl(['create', '-f', '-'], JSON.stringify(object));
  const send = (request: KubeRequest): Promise<KubeResponse> => controller.send(request, IN_TIME());

  before(async () => {
    ({ controlPlane } = stack.use(await startInstalledCluster({}, AbortSignal.timeout(120_000))));
    const token = (await kubectl(['create', 'token', 'nodemaint-controller', '-n', 'nodemaint-system'])).trim();
    const config = JSON.parse(await readFile(controlPlane.adminKubeconfig, 'utf8')) as { users: { user: object }[] };
    const [user] = config.users;
    if (user !== undefined) user.user = { token };
    const file = path.join(controlPlane.folder, 'token.conf');
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    controller = createKubeClient(await loadClusterAccess(file), 'test');
    stack.defer(controller.close);
    await make({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
    await make(webPod('web'));
    const { metadata, spec } = podOfDaemonSet({ app: 'agent' }, NODE) as { metadata: object; spec: object };
    const ofSet = { metadata: { ...metadata, name: 'agent' }, spec: { ...spec, nodeName: NODE } };
    await make({ apiVersion: 'v1', kind: 'Pod', ...ofSet });
    const gates = { schedulingGates: [{ name: GATE }, { name: 'example.com/quota' }], nodeName: '' };
    // As many fields as an object can have: comparing them must not cost more than the API server allows a policy.
    const env = Array.from({ length: 25_000 }, (_, index) => ({ name: `V${index}`, value: 'x' }));
    const containers = [{ name: 'main', image: 'none.invalid/none', env }];
    await make(webPod('held', { ...gates, containers }));
    await kubectl(['label', 'pod', 'held', `${HELD_FOR}=${NODE}`]);
    const inForce = async (): Promise<boolean> => {
      const tries = ATTACKS_ON_OTHERS.map(({ request }) => send({ ...request, path: dry(request) }));
      const answers = await Promise.all(tries);
      return answers.every(({ status }) => status === 403 || status === 422);
    };
    await waitFor('the policies are in force', inForce, { timeoutMs: 20_000 }).catch(() => undefined);
  });
  after(() => stack.disposeAsync());

  /** The request as a dry run, so that waiting for the policies changes nothing. */
  function dry({ path: target }: KubeRequest): string {
    return `${target}${target.includes('?') ? '&' : '?'}dryRun=All`;
  }

  it('the token is that of the account that the policies name', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const target = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { body: answer } = await send({ method: 'POST', path: target, body });
    assert.equal((answer as { status: { userInfo: { username: string } } }).status.userInfo.username, ACCOUNT);
  });

  it('the API server finds no fault in the policies', async () => {
    type Policy = {
      metadata: { name: string };
      status?: { typeChecking?: { expressionWarnings?: readonly object[] } };
    };
    const list = async (): Promise<readonly Policy[]> =>
      (JSON.parse(await kubectl(['get', 'validatingadmissionpolicies', '-o', 'json'])) as { items: readonly Policy[] })
        .items;
    const isChecked = async (): Promise<boolean> => (await list()).every(({ status }) => status !== undefined);
    await waitFor('the policies are checked', isChecked, { timeoutMs: 20_000 });
    for (const { metadata, status } of await list()) {
      if (!/^nodemaint-(?:controller|eviction|node-maintenances)/u.test(metadata.name)) continue;
      assert.deepEqual(status?.typeChecking?.expressionWarnings ?? [], [], metadata.name);
    }
  });

  for (const { what, request } of ATTACKS_ON_OTHERS) {
    it(`the API server refuses the token: ${what}`, async () => {
      const answer = await send(request);
      const said = statusMessage(answer).slice(0, 500);
      assert.ok(answer.status === 403 || answer.status === 422, `${answer.status}: ${said}`);
      assert.match(said, /ValidatingAdmissionPolicy 'nodemaint-controller-/);
    });
  }

  it('its Lease is in the level of leader elections, and its other calls in that of important workloads', async () => {
    type Schema = { metadata: { uid: string }; spec: { priorityLevelConfiguration: { name: string } } };
    const { items } = JSON.parse(await kubectl(['get', 'flowschemas', '-o', 'json'])) as { items: readonly Schema[] };
    const levelOf = async (target: string): Promise<string | undefined> => {
      const uid = (await send({ method: 'GET', path: target })).headers['x-kubernetes-pf-flowschema-uid'];
      return items.find(({ metadata }) => metadata.uid === uid)?.spec.priorityLevelConfiguration.name;
    };
    const lease = '/apis/coordination.k8s.io/v1/namespaces/nodemaint-system/leases/nodemaint-controller';
    await waitFor('the Lease has its level', async () => (await levelOf(lease)) === 'leader-election');
    await waitFor('the rest has its own', async () => (await levelOf('/api/v1/nodes')) === 'workload-high');
  });

  it('the token is enough for what the controller does', async () => {
    const done = async (request: KubeRequest): Promise<void> => {
      const answer = await send(request);
      assert.ok(answer.status < 300, `${request.method} ${request.path}: ${answer.status} ${statusMessage(answer)}`);
    };
    const patch = (target: string, body: object, kind: 'merge' | 'strategic' = 'merge'): Promise<void> =>
      done({ method: 'PATCH', path: target, body, patch: { kind } });
    await patch(POD, { metadata: { annotations: { 'kubernetes.io/pod-evict-wanted': 'true' } } });
    await patch(POD, { metadata: { annotations: { 'kubernetes.io/pod-evict-wanted': null } } });
    const held = (await send({ method: 'GET', path: HELD })).body as Pod;
    await releasePod(controller, held, IN_TIME());
    const released = JSON.parse(await kubectl(['get', 'pod', 'held', '-o', 'json'])) as Pod;
    assert.deepEqual(released.spec.schedulingGates, [{ name: 'example.com/quota' }]);
    assert.deepEqual(released.metadata.labels, { app: 'web' });
    const cordoned = { 'nodemaintenance.x-k8s.io/cordoned': 'm' };
    await patch(NODE_PATH, { metadata: { annotations: cordoned }, spec: { unschedulable: true } });
    const now = new Date().toISOString();
    const conditions = ['MaintenancePlanned', 'MaintenanceInProgress', 'Drained', 'DrainInProgress'].map((type) => ({
      type,
      status: 'True',
      reason: 'Test',
      message: '',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    }));
    const annotations = { 'nodemaintenance.x-k8s.io/maintenances': '{"maintenances":[]}' };
    await patch(`${NODE_PATH}/status`, { metadata: { annotations }, status: { conditions } }, 'strategic');
    const uncordoned = { 'nodemaintenance.x-k8s.io/cordoned': null };
    await patch(NODE_PATH, { metadata: { annotations: uncordoned }, spec: { unschedulable: null } });
    const uidOf = async (name: string): Promise<string> =>
      await kubectl(['get', 'pod', name, '-o', 'jsonpath={.metadata.uid}']);
    const byUid = async (name: string): Promise<object> => {
      return { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: await uidOf(name) } };
    };
    const agent = objectPath(PODS, { name: 'agent', namespace: 'default' });
    await done({ method: 'DELETE', path: agent, body: await byUid('agent') });
    const running = await send({ method: 'DELETE', path: POD, body: await byUid('web') });
    assert.match(`${running.status} ${statusMessage(running)}`, /^(?:403|422) .*only pods of a DaemonSet/u);
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web', namespace: 'default' } };
    await done({ method: 'POST', path: `${POD}/eviction`, body: eviction });
    const sooner = { ...(await byUid('web')), gracePeriodSeconds: 2 };
    await done({ method: 'DELETE', path: POD, body: sooner });
    await make(maintenanceOf({ stage: 'Complete' }, { name: 'maintenance-done' }));
    await done({ method: 'DELETE', path: objectPath(NODE_MAINTENANCES, { name: 'maintenance-done' }) });
  });
});
