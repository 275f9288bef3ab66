import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NodeMaintenances } from '../../../src/agent/cluster/maintenance-watch.ts';
import { ControllerLease } from '../../../src/agent/drain/controller-lease.ts';
import { NODE_NOTE_ANNOTATION } from '../../../src/api/names.ts';
import type { Node } from '../../../src/api/pod.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../src/decide/maintenance/drain-plan.ts';
import { writesNotes } from '../../../src/decide/leader/lease.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client.ts';
import { NODES, objectPath } from '../../../src/kube/resource.ts';
import { sendForObject } from '../../../src/kube/request.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE, type Running } from '../../support/rigs/eviction.ts';
import { leaseOf } from '../../support/rigs/leader.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';

const OTHERS = ['other-1', 'other-2', 'other-3'];
const STATIC = DEFAULT_DRAIN_PLAN.filter(({ podType }) => podType === 'Static');
const NEVER = new AbortController().signal;

/** An agent's view of its node, with what reached it. */
interface Agent {
  readonly watch: NodeMaintenances;
  readonly bytes: () => number;
  readonly wakes: () => number;
}

describe("the notes for agents on Nodes, with a real controller and the nodes' own identities", () => {
  let rig: EvictionRig;
  let controller: Running;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    for (const name of OTHERS) {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
      await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(node));
    }
    controller = await rig.startController();
    await waitFor('the controller leads', async () => writesNotes(await leaseOf(rig)));
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const apply = (object: object): Promise<string> =>
    rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const noteOn = async (name: string): Promise<string | undefined> => {
    const path = objectPath(NODES, { name });
    const node = await sendForObject<Node>(rig.client, { method: 'GET', path }, [], NEVER);
    return node?.metadata.annotations?.[NODE_NOTE_ANNOTATION];
  };
  /** Starts what an agent of the node watches, as the node. */
  const startAgent = async (nodeName: string): Promise<Agent> => {
    const kubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${nodeName}`, ['system:nodes']);
    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'agent');
    let bytes = 0;
    let wakes = 0;
    const counted: KubeClient = {
      ...client,
      watch: async function* (path, signal) {
        for await (const event of client.watch(path, signal)) {
          // Of its own Node the kubelet and others tell as before.
          if (path.includes('nodemaintenances')) bytes += JSON.stringify(event).length;
          yield event;
        }
      },
    };
    const onChange = (): void => void (wakes += 1);
    const dependencies = { client: counted, clock: createSystemClock(), log: SILENT_LOG, nodeName, onChange };
    const watch = new NodeMaintenances(dependencies, new ControllerLease(dependencies), () => undefined);
    const end = new AbortController();
    const running = watch.run(end.signal);
    stack.defer(async () => {
      end.abort();
      await running;
      client.close();
    });
    await waitFor('the agent knows its maintenances', async () => watch.synced());
    return { watch, bytes: () => bytes, wakes: () => wakes };
  };

  it('the agent of a node learns its targets from the note, and nothing of what happens on other nodes', async () => {
    const [own, uninvolved] = [await startAgent(NODE), await startAgent('other-3')];
    assert.deepEqual([own.watch.watchesAll(), uninvolved.watch.watchesAll()], [false, false]);
    await rig.createPod('a');
    const before = { bytes: uninvolved.bytes(), wakes: uninvolved.wakes() };
    await apply(drainOf('both', [NODE, 'other-1'], { reason: 'new firmware' }));
    await waitFor('the drain is known', async () => own.watch.drains().length === 1);
    assert.deepEqual(own.watch.drains(), [{ maintenance: 'both', reason: 'new firmware', drainTargets: [] }]);
    for (let at = 0; at < 10; at += 1) await apply(drainOf(`of-others-${at}`, ['other-1', 'other-2']));
    await rig.endPod('a');
    await waitFor('static pods are targeted', async () => own.watch.drains()[0]?.drainTargets.length === 1);
    assert.deepEqual(own.watch.drains()[0]?.drainTargets, STATIC.slice(-1));
    assert.deepEqual({ bytes: uninvolved.bytes(), wakes: uninvolved.wakes() }, before, 'nothing reached the other');
    await rig.controlPlane.kubectl(['delete', 'nm', '--all', '--timeout=300s']);
    await waitFor('the note is taken back', async () => (await noteOn(NODE)) === undefined);
    await waitFor('the drain is over', async () => own.watch.drains().length === 0);
  });

  it('the agent of a node that an admission policy keeps from being cordoned learns its static targets all the same', async () => {
    const kind = { apiVersion: 'admissionregistration.k8s.io/v1' };
    const metadata = { name: 'hands-off' };
    const unchanged = 'object.spec.?unschedulable.orValue(false) == oldObject.spec.?unschedulable.orValue(false)';
    const byOthers = "request.userInfo.username != 'system:serviceaccount:nodemaint-system:nodemaint-controller'";
    await apply({
      ...kind,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
        },
        validations: [{ expression: `${byOthers} || ${unchanged}`, message: 'cordons are ours' }],
      },
    });
    const spec = { policyName: 'hands-off', validationActions: ['Deny'] };
    await apply({ ...kind, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec });
    const account = createKubeClient(await loadClusterAccess(rig.controllerKubeconfig), 'test');
    stack.defer(() => account.close());
    const cordon = { path: `${objectPath(NODES, { name: NODE })}?dryRun=All`, body: { spec: { unschedulable: true } } };
    const isRefused = async (): Promise<boolean> => {
      const answer = await account.send({ method: 'PATCH', ...cordon, patch: { kind: 'merge' } }, NEVER);
      return JSON.stringify(answer.body).includes('cordons are ours');
    };
    await waitFor('the policy is in force', isRefused);

    const own = await startAgent(NODE);
    await rig.createPod('b');
    await apply(drainOf('refused', [NODE]));
    await waitFor('the drain is known', async () => own.watch.drains().length === 1);
    assert.deepEqual(own.watch.drains()[0]?.drainTargets, []);
    const leaves = async (): Promise<boolean> => (await rig.getPod('b'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the pod leaves', leaves);
    await rig.endPod('b');
    await waitFor('static pods are targeted', async () => own.watch.drains()[0]?.drainTargets.length === 1);
    await eventually(async () => {
      assert.equal(await rig.controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']), '');
    });
    await rig.controlPlane.kubectl(['delete', 'validatingadmissionpolicybinding', 'hands-off']);
    await rig.controlPlane.kubectl(['delete', 'nm', '--all', '--timeout=300s']);
    await waitFor('the note is taken back', async () => (await noteOn(NODE)) === undefined);
  });

  it('the agent watches all maintenances as soon as it needs them, and knows its own all the time', async () => {
    const { watch } = await startAgent(NODE);
    await apply(drainOf('goes-on', [NODE, 'other-1']));
    await waitFor('the drain is known', async () => watch.drains().length === 1);
    await controller.stop();
    watch.wantAll();
    await waitFor('all are watched', async () => {
      assert.equal(watch.drains().length, 1);
      return watch.watchesAll();
    });
    await apply(drainOf('without-controller', [NODE]));
    await waitFor('it is known without a note', async () => watch.get('without-controller')?.spec.stage === 'Drain');
  });
});
