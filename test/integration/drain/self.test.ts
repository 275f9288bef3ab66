import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { DRAINED } from '../../../src/api/node-maintenance.ts';
import { hasMutatingPolicies } from '../../control-plane/releases.ts';
import { deployment, podSpec } from '../../node/pods.ts';
import type { ApiProxy } from '../../support/stand-ins/api-proxy.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { lines, phaseIs, startAgent, startController } from '../../support/rigs/pod-node.ts';
import { buildOwnDrainRig, maintenance, NODE, seen, STOP_SEC, trigger } from '../../support/rigs/self-drain.ts';
import { eventually, SLOW, waitFor } from '../../support/wait-for.ts';

/** How often each pod was taken away with success, by its name. */
function removals({ requests }: ApiProxy): readonly string[] {
  return requests.flatMap(({ method, path: where, status = 0 }) => {
    const name = /\/pods\/([^/?]+)(\/eviction)?$/.exec(where)?.[1];
    const removes = where.endsWith('/eviction') ? method === 'POST' : method === 'DELETE';
    return name !== undefined && removes && status < 300 ? [name] : [];
  });
}

describe('a node whose shutdown has no living controller, on a real control plane with a real kubelet', () => {
  it('the agent drains the node from where the controller died until another lives, and drains no pod twice', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildOwnDrainRig(
      stack,
      (witness) => {
        const web = deployment('web', { stopSec: STOP_SEC, witness }) as { spec: object };
        const budget = {
          apiVersion: 'policy/v1',
          kind: 'PodDisruptionBudget',
          metadata: { name: 'web', namespace: 'default' },
          spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
        };
        return [{ ...web, spec: { ...web.spec, replicas: 2 } }, budget];
      },
      2,
    );
    // Where no other node stays, budgets are not asked.
    const renewTime = new Date(Date.now() + 600_000).toISOString().replace('Z', '000Z');
    for (const object of [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'stays' }, spec: { unschedulable: true } },
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'stays', namespace: 'kube-node-lease' },
        spec: { holderIdentity: 'stays', leaseDurationSeconds: 40, renewTime },
      },
    ])
      await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    const controller = startController(stack, rig.folder, rig.controllerProxy.kubeconfig);
    const agent = await startAgent(stack, rig);
    await trigger(rig);
    await seen(rig, 'web END');
    controller.kill('SIGKILL');
    await waitFor('the controller is dead', () => controller.exited(), SLOW);
    const byController = removals(rig.controllerProxy);
    assert.equal(byController.length, 1, 'the budget lets one go');

    await waitFor(
      'the agent finds no controller alive',
      async () => {
        return (await readAgentStatus(rig.runDirectory)).controller?.state === 'dead';
      },
      SLOW,
    );
    const refused = (): boolean =>
      rig.agentProxy.requests.some(({ path: where, status }) => where.endsWith('/eviction') && status === 429);
    await waitFor('the budget refuses the agent too', () => refused(), { ...SLOW, program: agent });
    const { stdout } = await runNodemaint(['status', '--run-directory', rig.runDirectory]);
    assert.match(stdout, /Controller: .*no controller is alive \(for at least .*\); this agent drains its own node/);
    assert.match(stdout, /imperative-eviction\.k8s\.io.*PodDisruptionBudget web, which needs 1 healthy pod and has 1/);
    assert.equal(stdout.match(/default\/web-/g)?.length, 1, `the pod that is gone is not waited for: ${stdout}`);
    await waitFor(
      'the maintenance says who drains, and what blocks',
      async () => {
        const [node] = (await maintenance(rig))?.status?.nodeStatuses ?? [];
        const blocks = node?.podsBlocking?.[0]?.reason === 'PodDisruptionBudget';
        return blocks && node.drainMessage?.includes('no controller is alive') === true;
      },
      SLOW,
    );
    assert.equal((await lines(rig)).length, 2, 'the budget is kept');

    await rig.controlPlane.kubectl(['delete', 'pdb', 'web']);
    await seen(rig, 'web END', 2);
    await seen(rig, 'logger TERM');
    startController(stack, rig.folder, rig.controllerProxy.kubeconfig);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });

    const order = ['web', 'web', 'logger', 'low', 'high'];
    assert.deepEqual(
      await lines(rig),
      order.flatMap((name) => [`${name} TERM`, `${name} END`]),
    );
    const byAgent = removals(rig.agentProxy).filter((name) => !name.endsWith(NODE));
    const ofWeb = byAgent.filter((name) => name.includes('web-'));
    assert.equal(ofWeb.length, 1, 'the controller took the other one');
    // A pod of the DaemonSet that was made before the gate was known is one more.
    assert.ok(byAgent.length > ofWeb.length && byAgent.length <= 3, `the one of logger: ${byAgent.join(' ')}`);
    const all = [...byController, ...byAgent, ...removals(rig.controllerProxy).slice(1)];
    assert.equal(new Set(all).size, all.length, `no pod is taken away twice: ${all.join(' ')}`);
    assert.deepEqual(await readdir(rig.node.staticPodPath), []);
    const drained = (await maintenance(rig))?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
  });

  it('the node keeps a pod that names an interceptor, and gets static pods and schedulability back after the boot, without any controller', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildOwnDrainRig(
      stack,
      (witness) => {
        const shape = { stopSec: STOP_SEC, witness };
        const annotations = {
          'interceptor.evictionrequest.coordination.k8s.io/priority_saver.example.com': '10000/controller',
        };
        const metadata = { name: 'saved', namespace: 'default', annotations };
        const saved = { apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec('saved', shape) };
        return [deployment('web', shape), saved];
      },
      2,
    );
    const agent = await startAgent(stack, rig);
    await trigger(rig);
    await seen(rig, 'web END');
    await waitFor(
      'the status names the interceptor',
      async () => {
        const { waitingFor } = await readAgentStatus(rig.runDirectory);
        const saved = waitingFor.find(({ what }) => what === 'default/saved');
        return saved?.message === 'waits for the interceptor saver.example.com; no controller is alive';
      },
      SLOW,
    );
    await eventually(async () => {
      assert.equal(
        await rig.controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']),
        'true',
      );
    });
    const isNamed = async (): Promise<boolean> =>
      (await maintenance(rig))?.status?.nodeStatuses?.[0]?.podsBlocking?.[0]?.name === 'saved';
    await waitFor('the maintenance names the pod too', isNamed, SLOW);
    assert.deepEqual(await lines(rig), ['web TERM', 'web END'], 'nothing is evicted behind its back');
    // What its interceptor would do.
    await rig.controlPlane.kubectl(['delete', 'pod', 'saved', '--wait=false']);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    const order = ['web', 'saved', 'logger', 'low', 'high'];
    assert.deepEqual(
      await lines(rig),
      order.flatMap((name) => [`${name} TERM`, `${name} END`]),
    );
    const drained = (await maintenance(rig))?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
    const logger = (): Promise<string> =>
      rig.controlPlane.kubectl(['get', 'pods', '-l', 'app=logger', '-o', 'jsonpath={.items[*].status.phase}']);
    // The DaemonSet controller makes it anew in its own time.
    const held = hasMutatingPolicies() ? 'Pending' : '';
    await waitFor('the gate holds the next pod, or refuses it', async () => (await logger()) === held, SLOW);
    await agent.stop();
    await writeFile(rig.bootIdPath, 'boot-2');
    await startAgent(stack, rig);
    await waitFor(
      'the agent has uncordoned its node',
      async () => {
        return (await rig.controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'])) === '';
      },
      SLOW,
    );
    assert.equal((await maintenance(rig))?.spec.stage, 'Complete');
    // Its network might be a DaemonSet, without which no controller could ever start.
    await waitFor("the DaemonSet's pod runs again", async () => (await logger()) === 'Running', SLOW);
    assert.deepEqual((await readdir(rig.node.staticPodPath)).toSorted(), ['high.yaml', 'low.yaml']);
  });
});
