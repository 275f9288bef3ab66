import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { DEADLINE_ANNOTATION } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type Program, waitUntil } from '../control-plane/process.ts';
import { TEST_IMAGE } from '../node/images.ts';
import { startNode, type TestNode } from '../node/node.ts';
import { writeAgentFiles } from '../support/agent-files.ts';
import { ec2Answers, type MetadataServer, startMetadataServer } from '../support/metadata-server.ts';
import { installManifests, readAgentStatus, runNodemaint, startNodemaint } from '../support/nodemaint.ts';
import { isThorough } from '../support/thorough.ts';

const NODE = `notices-${process.pid}`;
/** A pod that has written nothing for so long has ended, however busy this machine is. */
const SILENT_MS = 4_000;

interface Shape {
  readonly kind: 'Pod' | 'static';
  readonly graceSec: number;
  readonly priorityClassName?: string;
}

/** Two tiers of Default pods with all three grace periods, and two of static pods. None of them ends by itself. */
const PODS: Readonly<Record<string, Shape>> = {
  'web-10': { kind: 'Pod', graceSec: 10 },
  'web-60': { kind: 'Pod', graceSec: 60 },
  'web-600': { kind: 'Pod', graceSec: 600 },
  'critical-60': { kind: 'Pod', graceSec: 60, priorityClassName: 'system-cluster-critical' },
  'static-10': { kind: 'static', graceSec: 10 },
  'static-600': { kind: 'static', graceSec: 600, priorityClassName: 'system-node-critical' },
};

/** When a pod got SIGTERM and when it was seen alive last, in seconds since the notice. */
interface Ending {
  readonly pod: string;
  readonly termSec: number;
  readonly killSec: number;
}

describe('notices on a real node', () => {
  const stack = new AsyncDisposableStack();
  let folder: string;
  let witness: string;
  let runDirectory: string;
  let controlPlane: ControlPlane;
  let node: TestNode;
  let metadata: MetadataServer;
  let agent: Program;
  const QUIET = { 'events/maintenance/scheduled': '[]', 'autoscaling/target-lifecycle-state': 'InService' };

  const waitFor = async (what: string, ask: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> => {
    await waitUntil(what, ask, { timeoutMs }, AbortSignal.timeout(timeoutMs + 1_000));
  };
  const phaseIs = async (kind: string): Promise<boolean> => (await readAgentStatus(runDirectory)).phase.kind === kind;
  const maintenances = async (): Promise<readonly NodeMaintenance[]> => {
    const text = await controlPlane.kubectl(['get', 'nm', '-o', 'json']);
    return (JSON.parse(text) as { items: NodeMaintenance[] }).items;
  };

  const unschedulable = async (): Promise<string> =>
    await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);

  /** It leaves a file when it gets SIGTERM, and writes another ten times a second while it lives. */
  const podOf = (name: string, { kind, graceSec, priorityClassName }: Shape): object => {
    const script = `trap 'date > /witness/${name}.term' TERM; while :; do date > /witness/${name}.alive; sleep 0.1; done`;
    const container = {
      name: 'main',
      image: TEST_IMAGE,
      imagePullPolicy: 'Never',
      command: ['/bin/sh', '-c', script],
      volumeMounts: [{ name: 'witness', mountPath: '/witness' }],
    };
    const isStatic = kind === 'static';
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'kube-system',
        annotations: { 'nodemaintenance.x-k8s.io/notify': '' },
      },
      spec: {
        ...(isStatic ? {} : { nodeName: NODE, tolerations: [{ operator: 'Exists' }] }),
        hostNetwork: true,
        terminationGracePeriodSeconds: graceSec,
        ...(priorityClassName === undefined ? {} : { priorityClassName }),
        containers: [container],
        volumes: [{ name: 'witness', hostPath: { path: witness } }],
      },
    };
  };

  /** Makes all pods, and waits until each has shown that it lives. */
  const startPods = async (): Promise<void> => {
    for (const name of await readdir(witness)) await rm(path.join(witness, name));
    for (const [name, shape] of Object.entries(PODS)) {
      const text = JSON.stringify(podOf(name, shape));
      const file = path.join(node.staticPodPath, `${name}.json`);
      if (shape.kind === 'Pod') await controlPlane.kubectl(['apply', '-f', '-'], text);
      else if (!(await readdir(node.staticPodPath)).includes(`${name}.json`)) await writeFile(file, text);
    }
    await waitFor(
      'all pods run, and the API server knows',
      async () => {
        const alive = (await readdir(witness)).filter((name) => name.endsWith('.alive'));
        const text = await controlPlane.kubectl(['get', 'pods', '-n', 'kube-system', '-o', 'json']);
        const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
        const running = items.filter(({ status }) => status.phase === 'Running');
        return alive.length === Object.keys(PODS).length && running.length === alive.length;
      },
      90_000,
    );
  };

  /** When a file was written last, in milliseconds since the epoch; NaN where it was not. */
  const writtenAt = async (file: string): Promise<number> =>
    await stat(path.join(witness, file)).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.NaN,
    );

  /** Gives the node so many seconds, waits until all pods have ended, and says when they did. */
  const giveNotice = async (
    seconds: number,
  ): Promise<{ readonly endings: readonly Ending[]; readonly deadlineSec: number }> => {
    const beganAt = Date.now();
    const trigger = ['trigger', '--reason', `${seconds} s notice`, '--deadline', `${seconds}s`];
    const { code, stderr } = await runNodemaint([...trigger, '--run-directory', runDirectory]);
    assert.equal(code, 0, stderr);
    await waitFor('the agent drains by then', async () => {
      const { phase } = await readAgentStatus(runDirectory);
      return phase.kind === 'draining' && (phase.deadline?.at ?? Infinity) < beganAt + seconds * 1000 + 30_000;
    });
    const { phase } = await readAgentStatus(runDirectory);
    assert.ok(phase.kind === 'draining' && phase.deadline !== undefined);
    // It counts from when the agent was told, not from when somebody began to type.
    const deadlineSec = (phase.deadline.at - beganAt) / 1000;
    const stillAlive = async (name: string): Promise<boolean> =>
      Date.now() - (await writtenAt(`${name}.alive`)) < SILENT_MS;
    await waitFor(
      'all pods have ended',
      async () => {
        for (const name of Object.keys(PODS)) if (await stillAlive(name)) return false;
        return true;
      },
      (seconds + 30) * 1000,
    );
    const endings: Ending[] = [];
    for (const pod of Object.keys(PODS)) {
      const [term, alive] = [await writtenAt(`${pod}.term`), await writtenAt(`${pod}.alive`)];
      endings.push({ pod, termSec: (term - beganAt) / 1000, killSec: (alive - beganAt) / 1000 });
    }
    return { endings, deadlineSec };
  };

  const goBack = async (): Promise<void> => {
    const { code, stderr } = await runNodemaint(['cancel', '--run-directory', runDirectory]);
    assert.equal(code, 0, stderr);
    await waitFor('the agent watches again', () => phaseIs('watching'), 90_000);
  };

  before(async () => {
    const signal = AbortSignal.timeout(300_000);
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-notices-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    witness = path.join(folder, 'witness');
    await mkdir(witness);
    controlPlane = stack.use(await startControlPlane({}, signal));
    const controllerConfig = await installManifests(controlPlane);
    node = stack.use(await startNode(controlPlane, NODE, signal));
    metadata = stack.use(await startMetadataServer(ec2Answers(QUIET)));
    stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
    const hooks = path.join(folder, 'hooks');
    for (const moment of ['pre-drain', 'drained', 'pre-release', 'restored']) {
      await mkdir(path.join(hooks, moment), { recursive: true, mode: 0o755 });
      const hook = path.join(hooks, moment, '10-tell');
      await writeFile(hook, `#!/bin/sh\necho "$NODEMAINT_HOOK $NODEMAINT_ORIGIN" >> ${folder}/hooks.log\n`);
      await chmod(hook, 0o755);
    }
    const cloud = { provider: 'aws', metadataUrl: metadata.url, rebalance: 'cordon' };
    const files = await writeAgentFiles(folder, node, { hooksDirectory: hooks, cloud });
    ({ runDirectory } = files);
    agent = stack.use(startNodemaint(['agent', '--config', files.configFile], path.join(folder, 'agent.log')));
    const answers = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).node === NODE;
    await waitUntil('the agent answers', answers, { timeoutMs: 30_000, program: agent }, signal);
  });
  after(() => stack.disposeAsync());

  for (const seconds of isThorough('a notice of 120 s') ? [120, 30, 5] : [30, 5]) {
    it(`of ${seconds} s end every pod before the deadline, in order, static pods too`, async (test) => {
      await startPods();
      await using _back = { [Symbol.asyncDispose]: goBack };
      const { endings, deadlineSec } = await giveNotice(seconds);
      test.diagnostic(`${seconds} s notice: deadline ${deadlineSec.toFixed(1)} s`);
      for (const { pod, termSec, killSec } of endings) {
        test.diagnostic(`${seconds} s notice: ${pod} SIGTERM ${termSec.toFixed(1)} s, SIGKILL ${killSec.toFixed(1)} s`);
      }
      const of = (name: string): Ending =>
        endings.find(({ pod }) => pod === name) ?? { pod: name, termSec: Number.NaN, killSec: Number.NaN };
      for (const { pod, termSec, killSec } of endings) {
        assert.ok(killSec <= deadlineSec, `${pod} ended at ${killSec} s`);
        assert.ok(killSec - termSec <= (PODS[pod]?.graceSec ?? 0) + 2, `${pod}: ${termSec} s to ${killSec} s`);
      }
      const firsts = ['web-10', 'web-60', 'web-600'].map((name) => of(name).termSec);
      assert.ok(of('critical-60').termSec >= Math.max(...firsts), 'the tiers of Default pods keep their order');
      assert.ok(of('static-10').termSec >= of('critical-60').termSec, 'static pods come last');
      assert.ok(of('static-600').termSec >= of('static-10').termSec, 'in their own order');
      const [own] = (await maintenances()).filter(({ spec }) => spec.stage === 'Drain');
      const told = Date.parse(own?.metadata.annotations?.[DEADLINE_ANNOTATION] ?? '');
      const created = Date.parse(own?.metadata.creationTimestamp ?? '');
      assert.ok(Math.abs(told - created - seconds * 1000) <= 2_000, 'the NodeMaintenance has the deadline');
    });
  }

  it('shorten the end of pods that are terminating already when the deadline comes closer', async (test) => {
    await startPods();
    await using _back = { [Symbol.asyncDispose]: goBack };
    // Told for themselves with 600 s, and for a far deadline with what that leaves.
    await controlPlane.kubectl(['delete', 'pod', '-n', 'kube-system', 'web-600', '--wait=false']);
    await waitFor('it is told', async () => !Number.isNaN(await writtenAt('web-600.term')));
    const far = ['trigger', '--reason', 'far', '--deadline', '1000s', '--run-directory', runDirectory];
    assert.equal((await runNodemaint(far)).code, 0);
    await waitFor('web-60 is told', async () => !Number.isNaN(await writtenAt('web-60.term')));
    const { endings, deadlineSec } = await giveNotice(30);
    for (const { pod, killSec } of endings) {
      test.diagnostic(`closer deadline of ${deadlineSec.toFixed(1)} s: ${pod} SIGKILL ${killSec.toFixed(1)} s`);
      assert.ok(killSec <= deadlineSec, `${pod} ended at ${killSec} s`);
    }
  });

  it('of a spot interruption are taken back with everything that they began', async () => {
    await startPods();
    const before = await readdir(node.staticPodPath);
    const time = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+/, '');
    metadata.answers = ec2Answers({ ...QUIET, 'spot/instance-action': JSON.stringify({ action: 'stop', time }) });
    await waitFor('the agent drains', () => phaseIs('draining'));
    const { phase } = await readAgentStatus(runDirectory);
    assert.ok(phase.kind === 'draining' && phase.origin === 'notice');
    assert.equal(phase.deadline?.at, Date.parse(time));
    await waitFor('the node is cordoned', async () => (await unschedulable()) === 'true');
    interface Request {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly requesters?: readonly object[] };
    }
    const requests = async (): Promise<readonly Request[]> =>
      (JSON.parse(await controlPlane.kubectl(['get', 'evreq', '-A', '-o', 'json'])) as { items: Request[] }).items;
    await waitFor('evictions are requested, and interceptors see the deadline', async () =>
      (await requests()).some(({ metadata: { annotations } }) => annotations?.[DEADLINE_ANNOTATION] === time),
    );

    metadata.answers = ec2Answers(QUIET);
    await waitFor('the agent watches again', () => phaseIs('watching'), 90_000);
    await waitFor('the node is uncordoned', async () => (await unschedulable()) === '');
    await waitFor('no request is left that asks for anything', async () =>
      (await requests()).every(({ spec }) => (spec.requesters ?? []).length === 0),
    );
    assert.deepEqual(await readdir(node.staticPodPath), before, 'the manifests are back');
    const events = await controlPlane.kubectl(['get', 'events', '-n', 'kube-system', '-o', 'json']);
    const { items } = JSON.parse(events) as { items: { reason: string; message: string }[] };
    const told = items.filter(({ reason, message }) => reason === 'NodeMaintenance' && message.includes(time));
    assert.ok(told.length >= Object.keys(PODS).length - 1, `${told.length} pods were told`);
    const hooks = (await readFile(path.join(folder, 'hooks.log'), 'utf8')).trim().split('\n');
    assert.deepEqual(hooks.slice(-2), ['pre-drain notice', 'restored notice']);
  });

  it('of a rebalance recommendation only cordon the node, and give it back', async () => {
    const noticeTime = new Date().toISOString();
    metadata.answers = ec2Answers({ ...QUIET, 'events/recommendations/rebalance': JSON.stringify({ noticeTime }) });
    await waitFor('the node is cordoned', async () => (await unschedulable()) === 'true');
    assert.ok(await phaseIs('watching'));
    metadata.answers = ec2Answers(QUIET);
    await waitFor('the node is uncordoned', async () => (await unschedulable()) === '', 120_000);
  });
});
