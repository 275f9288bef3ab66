/** What is played while something goes wrong: each scenario ends with all maintenances complete. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { nodeStatusOf } from '../../src/decide/maintenance/recorded-node.ts';
import { BY_AGENT } from '../../src/decide/shutdown/drainer.ts';
import { DISRUPTION_BUDGETS, objectPath } from '../../src/kube/resource.ts';
import type { Actor } from './actor.ts';
import { leftOf } from './judge.ts';
import type { Stage } from './stage.ts';
import { finish, isAsking, untilDrained } from './steps.ts';

/** One scenario. */
export interface Scenario {
  readonly about: string;
  /** Whether the node that is drained has a machine, on which a real agent can run. */
  readonly hasMachine?: true;
  /** Whether it needs a cluster of its own and minutes, as only a simulation has: agents look for the one Lease of controllers. */
  readonly isSimulatedOnly?: true;
  play(stage: Stage): Promise<void>;
}

const drain: Scenario = {
  about: 'a controller drains a node with pods of all types, one of them with an interceptor',
  play: async (stage) => {
    await stage.layOut(['plain', 'intercepted', 'critical'], { hasStaticPod: true, budget: 'open' });
    stage.controller('controller').start();
    await stage.drain('m1');
    await untilDrained(stage, 'm1');
    await finish(stage, 'm1');
  },
};

const cancellation: Scenario = {
  about: 'the maintenance is called off while a budget and an interceptor keep two pods',
  play: async (stage) => {
    const { part } = stage;
    await stage.layOut(['plain', 'intercepted'], { hasStaticPod: true, budget: 'closed' });
    part.interceptors = 'beats';
    const before = part.pods().map(({ metadata }) => metadata.uid);
    stage.controller('controller').start();
    await stage.drain('m1');
    const isActive = (name: string): boolean =>
      part.requests().some(({ status }) => status?.activeInterceptors?.[0]?.includes(name) === true);
    await stage.until('the pods are asked to leave', () => isActive('imperative') && isActive('actor'));
    await finish(stage, 'm1');
    const after = part.pods().map(({ metadata }) => metadata.uid);
    if (!before.every((uid) => after.includes(uid))) throw new Error('a pod has left although its budget is closed');
  },
};

const intersecting: Scenario = {
  about: 'two maintenances with other plans drain a node; the first one is complete before the second',
  play: async (stage) => {
    await stage.layOut(['plain', 'critical', 'intercepted'], { hasStaticPod: true });
    stage.part.interceptors = 'beats';
    stage.controller('controller').start();
    await stage.drain('m1');
    await stage.until('the first one asks', () => isAsking(stage));
    await stage.drain('m2', { drainPlan: [{ podType: 'Default', podPriority: 0 }] });
    await stage.until(
      'the second one has begun',
      () => (stage.maintenance('m2')?.status?.nodeStatuses ?? []).length > 0,
    );
    await stage.complete('m1');
    stage.part.interceptors = 'works';
    await untilDrained(stage, 'm2');
    const node = stage.part.nodes().find(({ metadata }) => metadata.name === stage.node);
    if (node?.spec?.unschedulable !== true) throw new Error('the node is not cordoned while the second one goes on');
    await finish(stage, 'm2');
  },
};

const handOver: Scenario = {
  about: 'a second controller takes over from the first in the middle of a drain, and back again at its end',
  play: async (stage) => {
    await stage.layOut(['plain', 'intercepted'], { hasStaticPod: true });
    stage.part.interceptors = 'beats';
    const [first, second] = [stage.controller('first', { elects: true }), stage.controller('second', { elects: true })];
    first.start();
    await stage.until('the first one leads', () => stage.hasLeader());
    second.start();
    await stage.drain('m1');
    await stage.until('the drain asks', () => isAsking(stage));
    await first.stop();
    stage.part.interceptors = 'works';
    await untilDrained(stage, 'm1');
    first.start();
    const done = finish(stage, 'm1');
    await Promise.all([done, second.stop()]);
  },
};

const agent: Scenario = {
  about: 'an agent drains its own node for a reboot without any controller, and gives everything back after it',
  hasMachine: true,
  play: async (stage) => {
    const { part, machine } = stage;
    await stage.layOut(['plain', 'critical'], { hasStaticPod: true, budget: 'open' });
    const actor = stage.agent();
    actor.start();
    await machine?.announceShutdown();
    await stage.until('the machine is released', async () => (await machine?.phase()) === 'released');
    const left = part.pods().filter(({ spec }) => spec.nodeName === stage.node);
    if (left.length > 0) throw new Error(`released with pods: ${left.map(({ metadata }) => metadata.name).join(' ')}`);
    await comeBack(stage, actor);
  },
};

/** After a machine was released for a reboot: it boots, and everything is given back. */
async function comeBack(stage: Stage, actor: Actor): Promise<void> {
  const { part, machine, until } = stage;
  await actor.stop();
  await machine?.reboot();
  actor.start();
  await until('the maintenance is complete', () => part.maintenances().every(({ spec }) => spec.stage === 'Complete'));
  await until('everything is given back', async () => (await leftOf(stage)).length === 0);
  await until('the static pod is back', async () => (await machine?.manifests('in place'))?.length === 1);
}

const agentHandOver: Scenario = {
  about:
    'a drain for a reboot goes from the controller to the agent, when no controller is alive, and back to a controller',
  hasMachine: true,
  isSimulatedOnly: true,
  play: async (stage) => {
    const { part, machine } = stage;
    await stage.layOut(['plain', 'critical'], { hasStaticPod: true, budget: 'closed' });
    const [controller, agent] = [stage.controller('controller', { elects: true }), stage.agent()];
    controller.start();
    agent.start();
    await stage.until('the controller leads', () => stage.hasLeader());
    await machine?.announceShutdown();
    await stage.until('the controller drains', () => isAsking(stage));
    const isByAgent = (): boolean =>
      part
        .maintenances()
        .some(({ status }) => nodeStatusOf(status, stage.node)?.drainMessage?.includes(BY_AGENT) === true);
    await controller.stop();
    await stage.until('the agent drains', isByAgent);
    controller.start();
    await stage.until('the controller drains again', () => !isByAgent());
    await part.send({
      method: 'DELETE',
      path: objectPath(DISRUPTION_BUDGETS, { name: 'chaos', namespace: part.namespaces[0] }),
    });
    await stage.until('the machine is released', async () => (await machine?.phase()) === 'released');
    await comeBack(stage, agent);
  },
};

const OF_THE_CORE: Readonly<Record<string, Scenario>> = {
  drain,
  cancellation,
  intersecting,
  'hand-over': handOver,
  agent,
  'agent-hand-over': agentHandOver,
};

/** All scenarios, by the names that plans have: those of the core, and one for each add-on that has one, under its name. */
export async function loadScenarios(): Promise<Readonly<Record<string, Scenario>>> {
  const files = globSync('addons/*/scenario.ts', { cwd: import.meta.dirname });
  const load = async (file: string): Promise<readonly [string, Scenario]> => {
    const { SCENARIO } = (await import(path.join(import.meta.dirname, file))) as { readonly SCENARIO: Scenario };
    return [path.basename(path.dirname(file)), SCENARIO];
  };
  return { ...OF_THE_CORE, ...Object.fromEntries(await Promise.all(files.map(load))) };
}
