/** The fleet view and the checks of a cluster, with a real agent under the identity of its node and a real controller. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { AGENT_STATUS_ANNOTATION } from '../../../src/api/names.ts';
import type { FleetNode } from '../../../src/show/fleet/node-state.ts';
import type { Check } from '../../../src/show/checks/node-checks.ts';
import type { Program } from '../../control-plane/process.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { installManifests, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { startReplica, untilLeads } from '../../support/rigs/leader.ts';
import { waitFor } from '../../support/wait-for.ts';

const OTHER = 'node-other';

describe('the fleet view on a real API server', () => {
  let rig: EvictionRig;
  let agent: Program;
  let runDirectory: string;
  let nodeKubeconfig: string;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    const other = { apiVersion: 'v1', kind: 'Node', metadata: { name: OTHER, labels: { role: 'other' } } };
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(other));
    const controller = stack.use(await startReplica(rig, 'controller'));
    await untilLeads(controller);
    nodeKubeconfig = await rig.controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const folder = path.join(rig.folder, 'agent');
    await mkdir(path.join(folder, 'manifests'), { recursive: true });
    const keys = { kubeconfig: nodeKubeconfig, nodeName: NODE, onBoot: 'complete' };
    const files = await writeAgentFiles(folder, keys);
    ({ runDirectory } = files);
    agent = stack.use(startNodemaint(['agent', '--config', files.configFile], path.join(rig.folder, 'agent.log')));
  });
  after(() => stack.disposeAsync());

  /** Runs a command of the cluster as its administrator. */
  const run = (...args: readonly string[]): ReturnType<typeof runNodemaint> =>
    runNodemaint([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const fleet = async (...args: readonly string[]): Promise<ReadonlyMap<string, FleetNode>> => {
    const { stdout, stderr, code } = await run('nodes', '-o', 'json', ...args);
    assert.equal(code, 0, stderr);
    return new Map((JSON.parse(stdout) as { items: FleetNode[] }).items.map((node) => [node.name, node]));
  };
  const check = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly checks: ReadonlyMap<string, Check> }> => {
    const { stdout, stderr, code } = await run('check', '-o', 'json', ...args);
    assert.notEqual(stdout, '', stderr);
    return { code, checks: new Map((JSON.parse(stdout) as { items: Check[] }).items.map((each) => [each.name, each])) };
  };
  const untilPhase = async (phase: string): Promise<void> => {
    const hasPhase = async (): Promise<boolean> => (await fleet()).get(NODE)?.agent?.phase === phase;
    await waitFor(`the agent reports ${phase}`, hasPhase, { timeoutMs: 30_000, program: agent });
  };

  it('an agent reports on its own Node with the rights that a node has, and on no other', async () => {
    await untilPhase('watching');
    const nodes = await fleet();
    assert.deepEqual([...nodes.keys()], [OTHER, NODE].toSorted());
    assert.match(nodes.get(NODE)?.reason ?? '', /configured to hold no shutdown lock/);
    assert.deepEqual([nodes.get(OTHER)?.state, nodes.get(OTHER)?.reason], ['unguarded', 'no agent has reported']);
    assert.deepEqual([...(await fleet('-l', 'role=other')).keys()], [OTHER]);
    const forged = JSON.stringify({ metadata: { annotations: { [AGENT_STATUS_ANNOTATION]: '{}' } } });
    const forging = ['--kubeconfig', nodeKubeconfig, 'patch', 'node', OTHER, '--type=merge', '-p', forged];
    await assert.rejects(rig.controlPlane.kubectl(forging), /forbidden|not allowed|cannot/);
  });

  it('the views for people and for scripts name the same nodes', async () => {
    const { stdout: table } = await run('nodes');
    assert.match(table, /^NAME +STATE +REASON$/m);
    assert.match(table, /^2 nodes: 2 unguarded$/m);
    assert.match((await run('nodes', '-o', 'wide')).stdout, /^NAME +STATE +NODE +VERSION +PHASE/m);
    assert.equal((await run('nodes', '-o', 'name')).stdout, `node/${OTHER}\nnode/${NODE}\n`);
  });

  it('a shutdown and its end are seen within seconds', async () => {
    // The shutdown waits for it, so that it can be canceled.
    await rig.createPod('held');
    const trigger = await runNodemaint(['trigger', '--reason', 'a test', '--run-directory', runDirectory]);
    assert.equal(trigger.code, 0, trigger.stderr);
    const isGoing = async (): Promise<boolean> => (await fleet()).get(NODE)?.state === 'going-down';
    await waitFor('the node is going down', isGoing, { timeoutMs: 30_000, program: agent });
    await runNodemaint(['cancel', '--run-directory', runDirectory]);
    await rig.endPod('held');
    await untilPhase('watching');
  });

  it('the checks of the cluster find what is missing, and say what to do', async () => {
    const { code, checks } = await check();
    for (const name of ['custom resources', 'policies', 'rights', 'controller', 'versions of agents', 'left-overs']) {
      assert.equal(checks.get(name)?.result, 'ok', `${name}: ${checks.get(name)?.message}`);
    }
    // Nothing but the Deployment of the manifests is missing here, and a lock.
    assert.match(checks.get('webhook')?.message ?? '', /no endpoint/);
    assert.match(checks.get('agents')?.message ?? '', /2 of 2 nodes are unguarded/);
    assert.equal(code, 1);
    const { kubectl } = rig.controlPlane;
    const policy = 'validatingadmissionpolicy';
    await kubectl(['delete', `${policy}binding/nodemaint-held-pods`, `${policy}/nodemaint-cordons`]);
    await kubectl(['delete', 'clusterrolebinding', 'nodemaint-agent']);
    const change = (kind: string, name: string, path: string, value: unknown): Promise<string> =>
      kubectl(['patch', kind, name, '--type=json', '-p', JSON.stringify([{ op: 'add', path, value }])]);
    await change(policy, 'nodemaint-controller-pods', '/spec/validations/0/expression', 'true');
    const other = "request.userInfo.username == 'system:serviceaccount:other:nodemaint-controller'";
    await change(policy, 'nodemaint-eviction-requests', '/spec/variables/1/expression', other);
    await change(`${policy}binding`, 'nodemaint-controller-nodes', '/spec/validationActions', ['Audit']);
    const narrowed = { namespaceSelector: { matchLabels: { no: 'namespace' } } };
    await change(`${policy}binding`, 'nodemaint-node-maintenances', '/spec/matchResources', narrowed);
    const found = (await check()).checks;
    const split = found.get('policies')?.message.split('; not as in this version, or with such a binding: ');
    assert.deepEqual(split, [
      'missing: nodemaint-cordons, the binding of nodemaint-held-pods',
      'nodemaint-controller-pods, nodemaint-controller-nodes, nodemaint-eviction-requests, nodemaint-node-maintenances',
    ]);
    assert.equal(found.get('rights')?.message, 'missing: clusterrolebindings/nodemaint-agent');
  });

  it('the advice of the checks, followed to the letter, makes them content', async () => {
    /** Runs each command of kubectl in an advice as it stands there. */
    const follow = async (fix: string): Promise<void> => {
      const commands = fix.split('; ').map((each) => each.split(' '));
      for (const [program, ...args] of commands) {
        assert.equal(program, 'kubectl', fix);
        await rig.controlPlane.kubectl(args);
      }
    };
    const budget = ['pdb', 'nodemaint-controller', '-n', 'nodemaint-system'];
    await rig.controlPlane.kubectl(['create', ...budget, '--min-available=1', '--selector=app=nodemaint-controller']);
    const { checks } = await check();
    const resultOf = (name: string): string | undefined => checks.get(name)?.result;
    assert.deepEqual(['left-overs', 'policies', 'rights', 'webhook'].map(resultOf), ['warn', 'fail', 'fail', 'fail']);
    assert.match(checks.get('left-overs')?.message ?? '', /poddisruptionbudget\/nodemaint-controller$/);
    await rig.controlPlane.kubectl(['delete', ...budget]);
    // What "kubectl get" shows mends nothing: the Deployment is missing here.
    await follow(checks.get('webhook')?.fix ?? '');
    const [applied, replaced = ''] = checks.get('policies')?.fix.split('; what that leaves: ') ?? [];
    assert.equal(applied, 'kubectl apply -k manifests, or helm upgrade');
    await installManifests(rig.controlPlane);
    await follow(replaced);
    const areMended = async (): Promise<boolean> => {
      const { checks: now } = await check();
      return ['left-overs', 'policies', 'rights'].every((name) => now.get(name)?.result === 'ok');
    };
    await waitFor('the checks are content', areMended, { timeoutMs: 30_000 });
  });

  it('the checks look at the nodes with the labels, and leave out a node that is to have no agent', async () => {
    const agents = async (): Promise<Check | undefined> => (await check('-l', 'role=other')).checks.get('agents');
    assert.match((await agents())?.message ?? '', /1 of 1 nodes are unguarded: node-other \(no agent has reported\)/);
    const label = 'nodemaintenance.x-k8s.io/without-agent';
    await rig.controlPlane.kubectl(['label', 'node', OTHER, `${label}=true`]);
    const found = await agents();
    const shown = [found?.result, found?.message];
    assert.deepEqual(shown, [
      'warn',
      'no node is there that should have an agent; 1 can have none, or are to have none',
    ]);
    assert.equal((await fleet()).get(OTHER)?.state, 'exempt');
    await rig.controlPlane.kubectl(['label', 'node', OTHER, `${label}-`]);
  });

  const roles = path.join(import.meta.dirname, 'roles.yaml');
  const walks = parse(readFileSync(roles, 'utf8')) as Record<string, { run: string; code: number; says: string }[]>;
  for (const [role, commands] of Object.entries(walks)) {
    it(`every command says what a person with ${role} may not do or read`, async () => {
      const binding = ['create', 'clusterrolebinding', `test-${role}`, `--clusterrole=${role}`, `--user=${role}`];
      await rig.controlPlane.kubectl(binding);
      const kubeconfig = await rig.controlPlane.kubeconfigFor(role, ['system:authenticated']);
      for (const { run, code, says } of commands) {
        const ended = await runNodemaint([...run.split(' '), '--kubeconfig', kubeconfig]);
        assert.equal(ended.code, code, `${run}: ${ended.stdout}${ended.stderr}`);
        assert.match(`${ended.stderr}${ended.stdout}`, new RegExp(says, 'm'), run);
      }
    });
  }

  it('an agent that ends says so', async () => {
    await agent.stop(15_000);
    assert.match((await fleet()).get(NODE)?.reason ?? '', /stopped at 20/);
  });
});
