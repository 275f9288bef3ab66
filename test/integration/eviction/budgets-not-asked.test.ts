import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { AGENT_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { NODE_HOLD_MS } from '../../../src/decide/disruption-budget/staying-nodes.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import { entryOf } from '../../support/eviction/actors.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { sayOfNode } from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { type Heartbeats, startHeartbeats } from '../../support/rigs/heartbeats.ts';
import { isThorough } from '../../support/thorough.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
/** Longer than what is seen of nodes has to last. */
const LONG_MS = NODE_HOLD_MS + 15_000;
const TEN_MINUTES = 600_000;
const WHY =
  /PodDisruptionBudget web is not asked: node n[12] goes down, and no node that stays \(Ready, not going down\)/;

/** Two machines of an application with a budget are switched off; what other nodes do decides whether its budget is asked. */
describe('the budget of an application whose machines go down, on a real API server', () => {
  let rig: EvictionRig;
  let heartbeats: Heartbeats;
  before(async () => {
    rig = await buildEvictionRig({}, AbortSignal.timeout(1_200_000));
    await rig.controlPlane.kubectl(['delete', 'node', NODE]);
    heartbeats = startHeartbeats(rig.controlPlane);
  });
  after(async () => {
    await heartbeats[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    for (const name of ['n1', 'n2', 'n3', 'n4']) heartbeats.stop(name);
    // The controller is gone that would take its finalizer away.
    const free = ['patch', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
    const names = await kubectl(['get', 'nm', '-o', 'name']);
    for (const name of names.split('\n').filter((each) => each !== '')) await kubectl([...free, name]);
    await kubectl(['delete', 'nm', '--all']);
    await kubectl(['delete', 'pod', '--all', '--force', '--grace-period=0']);
    await kubectl(['delete', 'evreq,pdb', '--all', '-n', 'default']);
    await kubectl(['delete', 'events', '--all', '-A']);
    await kubectl(['delete', 'node', '--all']);
  });

  const kubectl = (args: readonly string[], input?: string): Promise<string> => rig.controlPlane.kubectl(args, input);
  const create = (object: object): Promise<string> => kubectl(['create', '-f', '-'], JSON.stringify(object));
  const node = async (name: string, spec: object = {}): Promise<void> => {
    await create({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec });
    await heartbeats.start(name);
  };
  const remove = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) heartbeats.stop(name);
    await kubectl(['delete', 'node', ...names]);
  };
  /** As the agent of the node, whose machine is switched off. */
  const switchOff = async (name: string): Promise<void> => {
    const drain = drainOf(`off-${name}`, [name]);
    await create({ ...drain, metadata: { ...drain.metadata, labels: { [AGENT_LABEL]: name } } });
  };
  /** A pod that counts as healthy for its budget. */
  const runPod = async (name: string, nodeName: string): Promise<Pod> => {
    const pod = await rig.createPod(name, {}, { nodeName, tolerations: [] });
    await kubectl(['label', 'pod', name, 'app=web', '--overwrite']);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await kubectl(['patch', 'pod', name, '--subresource=status', '-p', JSON.stringify({ status })]);
    return pod;
  };
  const terminating = async (): Promise<readonly Pod[]> => {
    const pods = await Promise.all(['web-1', 'web-2'].map((name) => rig.getPod(name)));
    return pods.flatMap((pod) => (pod?.metadata.deletionTimestamp === undefined ? [] : [pod]));
  };
  const arrange = async (): Promise<readonly [Pod, Pod]> => {
    const pods = [await runPod('web-1', 'n1'), await runPod('web-2', 'n2')] as const;
    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'web' } } };
    await create({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web' }, spec });
    await waitFor('the budget lets one go', async () => {
      return (await kubectl(['get', 'pdb', 'web', '-o', 'jsonpath={.status.disruptionsAllowed}'])) === '1';
    });
    for (const name of ['n1', 'n2']) await switchOff(name);
    await waitFor('the first replica leaves', async () => (await terminating()).length === 1, SLOW);
    return pods;
  };
  const assertRespected = async (ms: number): Promise<void> => {
    await setTimeout(ms);
    assert.equal((await terminating()).length, 1, 'the budget keeps the second replica');
  };
  const assertNotAsked = async (pods: readonly Pod[]): Promise<void> => {
    await waitFor('the second replica ends, too', async () => (await terminating()).length === 2, {
      timeoutMs: 2 * LONG_MS,
    });
    for (const pod of await terminating()) assert.equal(pod.metadata.deletionGracePeriodSeconds, 30, 'its own time');
    await waitFor('the requests say why', async () => {
      const messages = await Promise.all(pods.map(async (pod) => entryOf(await rig.get(pod), IMPERATIVE)?.message));
      return messages.some((message) => WHY.test(message ?? ''));
    });
    await waitFor('Events say why', async () => {
      const path = 'jsonpath={range .items[*]}{.involvedObject.kind} {.message}{"\\n"}{end}';
      const events = await kubectl(['get', 'events', '-A', '--field-selector=reason=BudgetNotAsked', '-o', path]);
      return /^EvictionRequest Pod web/m.test(events) && /^NodeMaintenance PodDis/m.test(events) && WHY.test(events);
    });
  };

  it('a node that stays keeps the budget, also while the API server was away, until its own machine goes down', async () => {
    for (const name of ['n1', 'n2', 'n3']) await node(name);
    const controller = await rig.startController();
    const pods = await arrange();
    await assertRespected(LONG_MS);
    await rig.controlPlane.stopApiServer();
    for (const name of ['n1', 'n2', 'n3']) heartbeats.stop(name);
    await setTimeout(20_000);
    await rig.controlPlane.startApiServer();
    // What the controller manager finds when it can look again.
    const lastTransitionTime = rfc3339(Date.now());
    const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime }];
    for (const name of ['n1', 'n2', 'n3']) await sayOfNode(rig.controlPlane, name, { conditions });
    await assertRespected(10_000);
    for (const name of ['n1', 'n2', 'n3']) await heartbeats.start(name);
    await assertRespected(LONG_MS);
    const begun = performance.now();
    await switchOff('n3');
    await assertNotAsked(pods);
    assert.ok(performance.now() - begun >= NODE_HOLD_MS, 'what is seen of the third node has lasted');
    await controller.stop();
  });

  const isWanted = isThorough('a node that stays and is tainted for others does not keep a budget');
  if (isWanted)
    it('a node that is tainted for others does not keep the budget, and one that joins does', async () => {
      for (const name of ['n1', 'n2']) await node(name);
      await node('n3', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
      // For it, the nodes have been there for longer.
      const controller = await rig.startController({}, { passedMs: TEN_MINUTES });
      const pods = await arrange();
      await setTimeout(NODE_HOLD_MS / 2);
      await node('n4');
      await assertRespected(LONG_MS);
      await remove('n4');
      await assertNotAsked(pods);
      await controller.stop();
    });
});
