import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { DRAINED, type NodeMaintenance } from '../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type Program, waitUntil } from '../control-plane/process.ts';
import { startNode, type TestNode } from '../node/node.ts';
import { daemonSet, deployment, podSpec, staticPod } from '../node/pods.ts';
import { type ApiProxy, startApiProxy } from '../support/api-proxy.ts';
import { writeAgentFiles } from '../support/agent-files.ts';
import { installManifests, readAgentStatus, runNodemaint, startNodemaint } from '../support/nodemaint.ts';

const NODE = `own-drain-${process.pid}`;
const STOP_SEC = 2;

interface Rig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly agentProxy: ApiProxy;
  readonly controllerProxy: ApiProxy;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  readonly witness: string;
}

async function waitFor(what: string, ask: () => Promise<boolean>, program?: Program): Promise<void> {
  const options = { timeoutMs: 90_000, ...(program === undefined ? {} : { program }) };
  await waitUntil(what, ask, options, AbortSignal.timeout(91_000));
}

async function apply(controlPlane: ControlPlane, ...objects: readonly object[]): Promise<void> {
  for (const object of objects) await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
}

async function runningPods(controlPlane: ControlPlane): Promise<number> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').length;
}

/** A control plane without a controller, a node with a DaemonSet pod, two static ones and `pods`, and an agent's configuration. */
async function buildRig(
  stack: AsyncDisposableStack,
  makePods: (witness: string) => readonly object[],
  count: number,
): Promise<Rig> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-own-drain-'));
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const controlPlane = stack.use(await startControlPlane({}, signal));
  const controllerProxy = stack.use(await startApiProxy(controlPlane, await installManifests(controlPlane)));
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const agentProxy = stack.use(await startApiProxy(controlPlane, node.kubeconfig));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  const shape = { stopSec: STOP_SEC, witness };
  await apply(controlPlane, daemonSet('logger', shape), ...makePods(witness));
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(staticPod('low', shape)));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high));
  await waitFor('all pods run', async () => (await runningPods(controlPlane)) === count + 3);
  const files = await writeAgentFiles(folder, node, { nodeName: NODE, kubeconfig: agentProxy.kubeconfig });
  return { folder, controlPlane, node, agentProxy, controllerProxy, ...files, witness };
}

async function startAgent(stack: AsyncDisposableStack, rig: Rig): Promise<Program> {
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], path.join(rig.folder, 'agent.log')));
  await waitFor('the agent answers', async () => (await readAgentStatus(rig.runDirectory)).node === NODE, agent);
  return agent;
}

function startController(stack: AsyncDisposableStack, rig: Rig): Program {
  const log = path.join(rig.folder, 'controller.log');
  return stack.use(startNodemaint(['controller', '--kubeconfig', rig.controllerProxy.kubeconfig], log));
}

async function trigger(rig: Rig): Promise<void> {
  const { code } = await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', rig.runDirectory]);
  assert.equal(code, 0);
}

async function phaseIs(rig: Rig, kind: string): Promise<boolean> {
  return (await readAgentStatus(rig.runDirectory)).phase.kind === kind;
}

async function lines(rig: Rig): Promise<readonly string[]> {
  return (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n').filter(Boolean);
}

async function seen(rig: Rig, line: string, times = 1): Promise<void> {
  await waitFor(`"${line}" is seen ${times} times`, async () => {
    return (await lines(rig)).filter((each) => each === line).length >= times;
  });
}

async function maintenance(rig: Rig): Promise<NodeMaintenance | undefined> {
  const text = await rig.controlPlane.kubectl(['get', 'nm', '-o', 'json']);
  return (JSON.parse(text) as { items: NodeMaintenance[] }).items[0];
}

/** How often each pod was taken away with success, by its name. */
function removals({ requests }: ApiProxy): readonly string[] {
  return requests.flatMap(({ method, path: where, status = 0 }) => {
    const name = /\/pods\/([^/?]+)(\/eviction)?$/.exec(where)?.[1];
    const removes = where.endsWith('/eviction') ? method === 'POST' : method === 'DELETE';
    return name !== undefined && removes && status < 300 ? [name] : [];
  });
}

describe('a node whose shutdown has no living controller, on a real control plane with a real kubelet', () => {
  it('is drained by its own agent from where the controller died until another lives, and no pod twice', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(
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
    const controller = startController(stack, rig);
    const agent = await startAgent(stack, rig);
    await trigger(rig);
    await seen(rig, 'web END');
    controller.kill('SIGKILL');
    await waitFor('the controller is dead', () => Promise.resolve(controller.exited()));
    const byController = removals(rig.controllerProxy);
    assert.equal(byController.length, 1, 'the budget lets one go');

    await waitFor('the agent finds no controller alive', async () => {
      return (await readAgentStatus(rig.runDirectory)).controller?.state === 'dead';
    });
    const refused = (): boolean =>
      rig.agentProxy.requests.some(({ path: where, status }) => where.endsWith('/eviction') && status === 429);
    await waitFor('the budget refuses the agent too', () => Promise.resolve(refused()), agent);
    const { stdout } = await runNodemaint(['status', '--run-directory', rig.runDirectory]);
    assert.match(stdout, /Controller: .*no controller is alive, since .*; this agent drains its own node/);
    assert.match(stdout, /imperative-eviction\.k8s\.io .*Blocked by PodDisruptionBudget web/);
    await waitFor('the maintenance says who drains, and what blocks', async () => {
      const [node] = (await maintenance(rig))?.status?.nodeStatuses ?? [];
      const blocks = node?.podsBlocking?.[0]?.reason === 'PodDisruptionBudget';
      return blocks && node.drainMessage?.includes('no controller is alive') === true;
    });
    assert.equal((await lines(rig)).length, 2, 'the budget is kept');

    await rig.controlPlane.kubectl(['delete', 'pdb', 'web']);
    await seen(rig, 'web END', 2);
    await seen(rig, 'logger TERM');
    startController(stack, rig);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), agent);

    const order = ['web', 'web', 'logger', 'low', 'high'];
    assert.deepEqual(
      await lines(rig),
      order.flatMap((name) => [`${name} TERM`, `${name} END`]),
    );
    const byAgent = removals(rig.agentProxy).filter((name) => !name.endsWith(NODE));
    assert.equal(byAgent.length, 2, 'a pod of web and the one of logger');
    const all = [...byController, ...byAgent, ...removals(rig.controllerProxy).slice(1)];
    assert.equal(new Set(all).size, all.length, `no pod is taken away twice: ${all.join(' ')}`);
    assert.deepEqual(await readdir(rig.node.staticPodPath), []);
    const drained = (await maintenance(rig))?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
  });

  it('keeps a pod that names an interceptor, and gives static pods and the node back after the boot, without any controller', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(
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
    await waitFor('the status names the interceptor', async () => {
      const { waitingFor } = await readAgentStatus(rig.runDirectory);
      const saved = waitingFor.find(({ what }) => what === 'default/saved');
      return saved?.message === 'waits for the interceptor saver.example.com; no controller is alive';
    });
    assert.equal(await rig.controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']), 'true');
    const [blocking] = (await maintenance(rig))?.status?.nodeStatuses?.[0]?.podsBlocking ?? [];
    assert.equal(blocking?.name, 'saved');
    assert.deepEqual(await lines(rig), ['web TERM', 'web END'], 'nothing is evicted behind its back');
    // What its interceptor would do.
    await rig.controlPlane.kubectl(['delete', 'pod', 'saved', '--wait=false']);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), agent);
    const order = ['web', 'saved', 'logger', 'low', 'high'];
    assert.deepEqual(
      await lines(rig),
      order.flatMap((name) => [`${name} TERM`, `${name} END`]),
    );
    const drained = (await maintenance(rig))?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
    await agent.stop();
    await writeFile(rig.bootIdPath, 'boot-2');
    await startAgent(stack, rig);
    await waitFor('the agent has uncordoned its node', async () => {
      return (await rig.controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'])) === '';
    });
    assert.equal((await maintenance(rig))?.spec.stage, 'Complete');
    assert.deepEqual((await readdir(rig.node.staticPodPath)).toSorted(), ['high.yaml', 'low.yaml']);
  });
});
