import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AGENT_LABEL, DEADLINE_ANNOTATION, KUBELET_INTERCEPTOR, NODE_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { effectiveDrainPlan } from '../../../src/decide/maintenance/drain-plan.ts';
import { nodeLabel } from '../../../src/decide/node-label.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { deleteDisrupted } from '../../../src/kube/eviction/evictor.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  create,
  report,
  requestFor,
  send,
  started,
} from '../../support/rigs/admission.ts';
import {
  createMaintenance,
  deleteMaintenance,
  madeMaintenance,
  patchMaintenance,
} from '../../support/maintenance/calls.ts';
import { byName, ownMaintenanceOf } from '../../support/maintenance/objects.ts';
import { madeOwn, patchMaintenanceStatus } from '../../support/maintenance/node-writes.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The node whose identity is stolen; what else it tries is in support/attacks. */
const NODE = 'node-a';
const NAMES = /a node may only create NodeMaintenances with the name shutdown-NODE-X/;
const ALONE = /a node may only create, change or delete a NodeMaintenance that selects itself alone/;
const LABEL = /that has its own name in the label/;
/** Whose it is, the name, and whether the node `by` may take it. */
const names: [string, string, string, boolean][] = [
  ['its own shutdown', 'a', 'shutdown-a-0', true],
  ['its own notice', 'a', 'notice-a-0', true],
  ['its own, of a name with hyphens', 'a-b', 'shutdown-a-b-z', true],
  ['its own, of a name with dots', 'ip-10-0-0-1.eu.internal', 'shutdown-ip-10-0-0-1.eu.internal-7', true],
  ["another node's, whose name begins with its own", 'a', 'shutdown-a-b-z', false],
  ["another node's, whose name is the end of its own", 'a-b', 'shutdown-b-z', false],
  ["another node's", 'a', 'shutdown-b-z', false],
  ["another node's notice", 'a', 'notice-a-b-1', false],
  ['of an agent of version 0.1.0', 'a', 'shutdown-a-tm1x0z', false],
  ['one of very many', 'a', 'shutdown-a-zz', false],
  ['no suffix', 'a', 'shutdown-a', false],
  ['no suffix of a notice', 'a', 'notice-a', false],
  ['a letter for a notice', 'a', 'notice-a-x', false],
  ['what "nodemaint drain" would take', 'a', 'maintenance-b', false],
  ['the name of a node', 'a', 'b', false],
  ['anything', 'a', 'x', false],
];

const LAST = 'imperative-eviction.k8s.io';
const LONG = `node-${'a.b-'.repeat(61)}end0`;

let rig: AdmissionRig;
let node: KubeClient;
before(async () => {
  rig = await buildAdmissionRig();
  node = await asNode(NODE);
  await waitFor('the policies for nodes are in force', async () =>
    NAMES.test(statusMessage(await createMaintenance(node, ownMaintenanceOf(NODE, { name: 'x' }), 'dryRun'))),
  );
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

const clients = new Map<string, Promise<KubeClient>>();
function asNode(name: string): Promise<KubeClient> {
  const known = clients.get(name) ?? rig.user(`system:node:${name}`, [], ['system:nodes']);
  clients.set(name, known);
  return known;
}

describe('the names of the maintenances that a node makes', () => {
  for (const [what, by, name, allowed] of names) {
    it(`a name ${allowed ? 'may' : 'may not'} be ${what}: node ${by}, ${name}`, async () => {
      const answer = await createMaintenance(await asNode(by), ownMaintenanceOf(by, { name }), 'dryRun');
      if (allowed) assertAllowed(answer);
      else assertRefused(answer, NAMES);
    });
  }

  it('a name may not be a generated one', async () => {
    const { metadata, ...body } = ownMaintenanceOf(NODE);
    const generated = { ...body, metadata: { labels: metadata.labels, generateName: `shutdown-${NODE}-` } };
    assertRefused(await createMaintenance(node, generated as never, 'dryRun'), NAMES);
  });
});

describe('the contents of a maintenance that a node makes', () => {
  it('a node makes what its agent makes, with a deadline, a long reason and a plan of its own', async () => {
    const annotations = { [DEADLINE_ANNOTATION]: new Date().toISOString() };
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`label-${at}`, 'x']));
    const selectors = [many, { app: 'x' }].map((matchLabels) => ({ podSelector: { matchLabels } }));
    const own = selectors.map((each, podPriority) => ({ podType: 'Default' as const, podPriority, ...each }));
    const drainPlan = effectiveDrainPlan(own);
    const body = ownMaintenanceOf(NODE, { annotations }, { drainPlan, reason: 'x'.repeat(1024) });
    assertAllowed(await createMaintenance(node, body, 'dryRun'));
  });

  it('a node may have a name of up to 253 characters', async () => {
    // A certificate of OpenSSL cannot have a name of this length.
    const by = ['--as', `system:node:${LONG}`, '--as-group', 'system:nodes', 'create', '--dry-run=server', '-f', '-'];
    const label = `${LONG.slice(0, 46)}-0123456789abcdef`;
    const made = async (name: string, own: string): Promise<string> =>
      await rig.controlPlane
        .kubectl(by, JSON.stringify(ownMaintenanceOf(LONG, { name, labels: { [AGENT_LABEL]: own } })))
        .catch(String);
    const name = `shutdown-${LONG.slice(0, 241)}x-0`;
    assert.match(await made(name, label), /created/);
    assert.match(await made(name, 'node-b'), LABEL);
    assert.match(await made(`shutdown-${LONG.slice(0, 200)}-0`, label), NAMES);
  });
});

describe('a node and the maintenances that are there', () => {
  it('a node may change the stage of its own maintenance, and delete it', async () => {
    const name = await madeOwn(node, NODE, { name: `shutdown-${NODE}-1` });
    assertAllowed(await patchMaintenance(node, name, { metadata: { annotations: { [DEADLINE_ANNOTATION]: 'x' } } }));
    const plan = effectiveDrainPlan([]);
    const drained = { type: 'Drained', status: 'True', reason: 'DrainCompleted', message: 'All pods are gone.' };
    const status = {
      nodeStatuses: [{ nodeRef: { name: NODE }, drainTargets: plan, drainMessage: 'Drained', podsEvacuating: 0 }],
      conditions: [{ ...drained, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    };
    assertAllowed(await patchMaintenanceStatus(node, name, status));
    // Somebody's tool has put its own there: what the node does not touch does not matter.
    const labels = { [AGENT_LABEL]: NODE, a: 'b' };
    const tools = { labels, finalizers: ['tool.example.com/x'], annotations: { tool: 'x'.repeat(10_000) } };
    assertAllowed(await patchMaintenance(rig.admin, name, { metadata: tools, spec: { reason: 'y'.repeat(4096) } }));
    assertAllowed(await patchMaintenance(node, name, { spec: { stage: 'Complete' } }));
    assertAllowed(await deleteMaintenance(node, name));
    assertAllowed(await patchMaintenance(rig.admin, name, { metadata: { finalizers: null } }));
  });

  it('a node may not apply to its maintenance under ever new field managers', async () => {
    const name = await madeOwn(node, NODE, { name: `shutdown-${NODE}-2` });
    const path = objectPath(NODE_MAINTENANCES, { name });
    let refused = '';
    for (let at = 0; at < 20 && refused === ''; at += 1) {
      const { apiVersion, kind } = ownMaintenanceOf(NODE);
      const body = { apiVersion, kind, metadata: { name, annotations: { [DEADLINE_ANNOTATION]: 'x' } } };
      const answer = await send(node, { method: 'PATCH', path, body, patch: { kind: 'apply', manager: `m${at}` } });
      if (answer.status !== 200) refused = statusMessage(answer);
    }
    assert.match(refused, /more than 16 names of field managers/);
    assertAllowed(await deleteMaintenance(node, name));
  });

  it("a node may not write the status of a person's maintenance that selects it by more than its name", async () => {
    const byLabelToo = { ...byName(NODE).nodeSelectorTerms[0], matchExpressions: [{ key: 'x', operator: 'Exists' }] };
    const foreign = await madeMaintenance(rig.admin, { nodeSelector: { nodeSelectorTerms: [byLabelToo] } });
    assertRefused(await patchMaintenanceStatus(node, foreign, { nodeStatuses: [{ nodeRef: { name: NODE } }] }), ALONE);
  });

  it('a name stays free for other nodes although it begins like theirs', async () => {
    await madeMaintenance(rig.admin, {}, { name: 'maintenance-n2' });
    const [first, second] = [await asNode('a'), await asNode('a-b')];
    assertAllowed(await createMaintenance(first, ownMaintenanceOf('a', { name: 'shutdown-a-b' })));
    assertAllowed(await createMaintenance(second, ownMaintenanceOf('a-b', { name: 'shutdown-a-b-b' })));
    assertRefused(await deleteMaintenance(first, 'shutdown-a-b-b'), ALONE);
  });
});

describe('a node and EvictionRequests', () => {
  it('a node makes no EvictionRequest, and reports in few words under one name', async () => {
    assert.equal((await create(node, requestFor('web', crypto.randomUUID()))).status, 403);
    const targets = [KUBELET_INTERCEPTOR, LAST];
    const name = await started(rig, targets, { labels: { [NODE_LABEL]: NODE } });
    const now = new Date().toISOString();
    const entry = { name: KUBELET_INTERCEPTOR, startTime: now, heartbeatTime: now };
    assertRefused(
      await report(node, name, { ...entry, message: 'x'.repeat(1025) }),
      /a message of at most 1024 characters/,
    );
    assertRefused(
      await report(node, name, { ...entry, message: 'x' }, 'mallory'),
      /as the field manager kubelet.k8s.io/,
    );
    assertAllowed(await report(node, name, { ...entry, message: 'x'.repeat(1024) }));
    const whole = { labels: { [NODE_LABEL]: nodeLabel(LONG) }, annotations: { [NODE_LABEL]: LONG } };
    const long = await started(rig, targets, whole);
    const as = ['--as', `system:node:${LONG}`, '--as-group', 'system:nodes'];
    const status = JSON.stringify({
      status: {
        interceptors: [
          { ...entry, message: 'x' },
          { name: LAST, message: '' },
        ],
      },
    });
    // kubectl reads what it patches, which agents do not.
    const role = ['create', 'clusterrole', 'reads-status', '--verb=get', '--resource=evictionrequests/status'];
    await rig.controlPlane.kubectl(role);
    const bind = ['create', 'clusterrolebinding', 'reads-status', '--clusterrole=reads-status', '--group=system:nodes'];
    await rig.controlPlane.kubectl(bind);
    const change = ['patch', 'evreq', long, '--subresource=status', '--type=merge', '-p', status];
    const patched = (user: readonly string[]): Promise<string> =>
      rig.controlPlane.kubectl([...user, ...change, '--field-manager', KUBELET_INTERCEPTOR]).catch(String);
    assert.match(await patched(['--as', `system:node:${LONG.slice(0, -1)}1`, ...as.slice(2)]), /of pods on itself/);
    assert.match(await patched(as), /patched/);
    const foreign = await started(rig, targets, { labels: { [NODE_LABEL]: 'node-b' } });
    assertRefused(
      await report(node, foreign, { ...entry, message: 'x' }),
      /only report on EvictionRequests of pods on itself/,
    );
  });
});

describe('a pod that a node ends without an eviction', () => {
  for (const [whose, nodeName, refused] of [
    ['its own', NODE, false],
    ['of another node', 'node-b', true],
  ] as const)
    it(`a pod ${whose} ${refused ? 'is left as it is' : 'has the condition that an eviction sets'}`, async () => {
      const name = `job-${nodeName}`;
      const metadata = { name, namespace: 'default', finalizers: ['example.com/seen'] };
      const spec = { nodeName, containers: [{ name: 'c', image: 'none.invalid/none' }] };
      const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
      const made = await send(rig.admin, { method: 'POST', path: collectionPath(PODS, 'default'), body });
      assertAllowed(made);
      const pod = made.body as Pod;
      const end = deleteDisrupted(node, pod, { now: Date.now() }, AbortSignal.timeout(10_000));
      if (refused) await assert.rejects(end, { code: 'API_REFUSED' });
      else assert.equal(await end, true);
      const read = await send(rig.admin, { method: 'GET', path: objectPath(PODS, metadata) });
      const { status, metadata: left } = read.body as Pod;
      const conditions = status?.conditions?.filter(({ type }) => type === 'DisruptionTarget') ?? [];
      assert.deepEqual([conditions.length, left.deletionTimestamp !== undefined], refused ? [0, false] : [1, true]);
    });
});
