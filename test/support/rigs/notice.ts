import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { TEST_IMAGE } from '../../node/images.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { ec2Answers, type MetadataServer, startMetadataServer } from '../stand-ins/metadata-server.ts';
import { startInstalledCluster } from '../commands/installed-cluster.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { SLOW, waitFor } from '../wait-for.ts';
import { keysOfNode, writeAgentFiles } from '../agent/files.ts';

const NODE = `notices-${process.pid}`;
/** A pod that has written nothing for this time has ended, even on a busy machine. */
const SILENT_MS = 4_000;

export interface Shape {
  readonly kind: 'Pod' | 'static';
  readonly graceSec: number;
  readonly priorityClassName?: string;
}

/** Two tiers of Default pods with all three grace periods, and two of static pods. None of them ends by itself. */
export const PODS: Readonly<Record<string, Shape>> = {
  'web-10': { kind: 'Pod', graceSec: 10 },
  'web-60': { kind: 'Pod', graceSec: 60 },
  'web-600': { kind: 'Pod', graceSec: 600 },
  'critical-60': { kind: 'Pod', graceSec: 60, priorityClassName: 'system-cluster-critical' },
  'static-10': { kind: 'static', graceSec: 10 },
  'static-600': { kind: 'static', graceSec: 600, priorityClassName: 'system-node-critical' },
};

/** The end of a pod, in seconds since the notice. */
export interface Ending {
  readonly pod: string;
  /** When the controller requested its eviction, or the agent had parked its manifest: the product's part of the order. */
  readonly orderedSec: number;
  /** When it got SIGTERM from the kubelet. */
  readonly termSec: number;
  /** When it was seen alive last. */
  readonly killSec: number;
}

/** What the metadata service answers while nothing is announced. */
export const QUIET = { 'events/maintenance/scheduled': '[]', 'autoscaling/target-lifecycle-state': 'InService' };

/** A real node with a controller, an agent that asks a metadata service, and pods that do not end by themselves. */
export interface NoticeRig extends AsyncDisposable {
  readonly folder: string;
  readonly runDirectory: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly metadata: MetadataServer;
  phaseIs(kind: string): Promise<boolean>;
  maintenances(): Promise<readonly NodeMaintenance[]>;
  unschedulable(): Promise<string>;
  /** Makes all pods, and waits until each has shown that it lives. */
  startPods(): Promise<void>;
  /** When a pod wrote its file last, in milliseconds since the epoch; NaN where it did not. */
  writtenAt(file: string): Promise<number>;
  /** Gives the node so many seconds, waits until all pods have ended, and says when they did. */
  giveNotice(seconds: number): Promise<{ readonly endings: readonly Ending[]; readonly deadlineSec: number }>;
  goBack(): Promise<void>;
}

/** Starts all of it. */
export async function buildNoticeRig(): Promise<NoticeRig> {
  await using stack = new AsyncDisposableStack();
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('notices');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  const { controlPlane, controllerKubeconfig: controllerConfig } = stack.use(await startInstalledCluster({}, signal));
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const metadata = stack.use(await startMetadataServer(ec2Answers(QUIET)));
  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  const hooks = path.join(folder, 'hooks');
  for (const moment of ['pre-drain', 'drained', 'pre-release', 'restored']) {
    await mkdir(path.join(hooks, moment), { recursive: true, mode: 0o755 });
    const hook = path.join(hooks, moment, '10-tell');
    await writeFile(hook, `#!/bin/sh\necho "$NODEMAINT_HOOK $NODEMAINT_ORIGIN" >> ${folder}/hooks.log\n`);
    await chmod(hook, 0o755);
  }
  const cloud = { provider: 'aws', metadataUrl: metadata.url };
  const files = await writeAgentFiles(folder, { ...keysOfNode(node), hooksDirectory: hooks, cloud });
  const { runDirectory } = files;
  const agent = stack.use(startNodemaint(['agent', '--config', files.configFile], path.join(folder, 'agent.log')));
  const answers = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).node === NODE;
  await waitFor('the agent answers', answers, { program: agent, signal });

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
      metadata: { name, namespace: 'kube-system' },
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
      SLOW,
    );
  };

  /** When a file was written last, in milliseconds since the epoch; NaN where it was not. */
  const writtenAt = async (file: string): Promise<number> =>
    await stat(path.join(witness, file)).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.NaN,
    );

  /** When a program logged a line with these fields for the first time since `from`; NaN where it did not. */
  const loggedAt = async (file: string, fields: Readonly<Record<string, string>>, from: number): Promise<number> => {
    const lines = (await readFile(path.join(folder, file), 'utf8')).split('\n').filter((line) => line.startsWith('{'));
    const times = lines.flatMap((text) => {
      const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const isIt = Object.entries(fields).every(([key, value]) => line[key] === value);
      const at = Date.parse(String(line['time']));
      return isIt && at >= from ? [at] : [];
    });
    return times[0] ?? Number.NaN;
  };

  /** Gives the node so many seconds, waits until all pods have ended, and says when they did. */
  const giveNotice = async (
    seconds: number,
  ): Promise<{ readonly endings: readonly Ending[]; readonly deadlineSec: number }> => {
    const beganAt = Date.now();
    const trigger = ['trigger', '--reason', `${seconds} s notice`, '--deadline', `${seconds}s`];
    const { code, stderr } = await runNodemaint([...trigger, '--run-directory', runDirectory]);
    assert.equal(code, 0, stderr);
    let deadline = Infinity;
    await waitFor(
      'the agent has the deadline',
      async () => {
        const { phase } = await readAgentStatus(runDirectory);
        deadline = (phase.kind === 'watching' ? undefined : phase.deadline?.at) ?? Infinity;
        return deadline < beganAt + seconds * 1000 + 30_000;
      },
      SLOW,
    );
    // It counts from the moment at which the agent was told, not from the start of the command.
    const deadlineSec = (deadline - beganAt) / 1000;
    const stillAlive = async (name: string): Promise<boolean> =>
      Date.now() - (await writtenAt(`${name}.alive`)) < SILENT_MS;
    await waitFor(
      'all pods have ended',
      async () => {
        for (const name of Object.keys(PODS)) if (await stillAlive(name)) return false;
        return true;
      },
      { timeoutMs: (seconds + 30) * 1000 },
    );
    const endings: Ending[] = [];
    for (const [pod, { kind }] of Object.entries(PODS)) {
      const ordered =
        kind === 'static'
          ? await loggedAt('agent.log', { msg: 'parked manifest', manifest: `${pod}.json` }, beganAt)
          : await loggedAt('controller.log', { msg: 'requested eviction', pod: `kube-system/${pod}` }, beganAt);
      const [term, alive] = [await writtenAt(`${pod}.term`), await writtenAt(`${pod}.alive`)];
      endings.push({
        pod,
        orderedSec: (ordered - beganAt) / 1000,
        termSec: (term - beganAt) / 1000,
        killSec: (alive - beganAt) / 1000,
      });
    }
    return { endings, deadlineSec };
  };

  const goBack = async (): Promise<void> => {
    const { code, stderr } = await runNodemaint(['cancel', '--run-directory', runDirectory]);
    assert.equal(code, 0, stderr);
    await waitFor('the agent watches again', () => phaseIs('watching'), SLOW);
  };

  const owned = stack.move();
  return {
    folder,
    runDirectory,
    controlPlane,
    node,
    metadata,
    phaseIs,
    maintenances,
    unschedulable,
    startPods,
    writtenAt,
    giveNotice,
    goBack,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
