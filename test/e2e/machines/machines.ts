/**
 * Several whole nodes of one cluster, each with its own systemd, logind, containerd and kubelet in a container, with the
 * agent as install.sh installs it, and the manifests exactly as they are shipped: two replicas of the controller, as pods.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { createWriteLog, type WriteLog } from '../../chaos/audit.ts';
import { createTimeline, type Timeline } from '../../chaos/timeline.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { startProgram } from '../../control-plane/process.ts';
import { staticPod } from '../../node/pods.ts';
import { installManifests } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type ClusterNode, HOST_FROM_NODES, startClusterNode } from '../../systemd/cluster-node.ts';
import { CHECKOUT } from '../../systemd/container.ts';
import { systemRoot } from '../../systemd/roots.ts';
import { AGENT_WATCHES } from '../machine/install.ts';
import { isServing, type WholePod } from './history.ts';
import { isController, unsettledOn } from './settled.ts';
import { STATIC_PODS, WITNESS, workloads } from './workload.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const SETTLE_MS = 300_000;
/** Of each pod that does not serve. */
const EVENTS_SHOWN = 8;
/**
 * The boot id of a container is a file over that of the kernel. The agent's unit has a view of the kernel's files of its own,
 * without it: each boot would be the same one.
 */
const BOOT_ID_DROP_IN = `apiVersion: ${CONFIG_API_VERSION}
kind: AgentConfiguration
bootIdPath: /run/boot-id
`;

/** What machines are made of. */
export interface MachinesPlan {
  readonly names: readonly string[];
  /** The number of the first one in the network of the tests; different for each rig. */
  readonly firstNumber: number;
}

/** What the machines of a cluster share. */
interface Shared {
  readonly controlPlane: ControlPlane;
  readonly timeline: Timeline;
  readonly writes: WriteLog;
  readonly folder: string;
  /** Ends all of it. */
  readonly stack: AsyncDisposableStack;
}

/** The machines of a cluster. */
export class Machines {
  readonly #folder: string;
  readonly #stack: AsyncDisposableStack;
  readonly #firstNumber: number;
  readonly #signal: AbortSignal;
  readonly #nodes = new Map<string, ClusterNode>();
  readonly controlPlane: ControlPlane;
  readonly timeline: Timeline;
  readonly writes: WriteLog;

  constructor({ controlPlane, timeline, writes, folder, stack }: Shared, firstNumber: number, signal: AbortSignal) {
    this.controlPlane = controlPlane;
    this.timeline = timeline;
    this.writes = writes;
    this.#folder = folder;
    this.#stack = stack;
    this.#firstNumber = firstNumber;
    this.#signal = signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  machine(name: string): ClusterNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no machine ${name}`);
    return node;
  }

  /** Adds a machine. */
  async add(name: string): Promise<void> {
    const folder = path.join(this.#folder, name);
    await mkdir(folder);
    const number = this.#firstNumber + this.#nodes.size;
    const root = await systemRoot('12', this.#signal);
    const { controlPlane } = this;
    const node = this.#stack.use(await startClusterNode({ controlPlane, name, number, folder, root }, this.#signal));
    this.#nodes.set(name, node);
    await node.importImage(path.join(ROOT, 'dist', 'nodemaint-image.tar'));
    const { must } = node.system();
    await must(`mkdir -p ${WITNESS} && : > ${WITNESS}/log`);
    await must('mkdir -p /etc/nodemaint/config.d && cat > /etc/nodemaint/config.d/10-boot-id.yaml', BOOT_ID_DROP_IN);
    await must(`${CHECKOUT}/install.sh`);
    for (const [pod, shape] of Object.entries(STATIC_PODS))
      await must(
        `cat > /root/${pod} && mv /root/${pod} /etc/kubernetes/manifests/${pod}.yaml`,
        JSON.stringify(staticPod(pod, shape)),
      );
  }

  /** Takes the taints of a node away that a test gave it. */
  async untaint(name: string): Promise<void> {
    await this.controlPlane.kubectl(['taint', 'node', name, 'for-']).catch(() => undefined);
  }

  /** Starts the pods of the tests, and waits until all of them run. */
  async load(): Promise<void> {
    const { kubectl, adminKubeconfig } = this.controlPlane;
    await kubectl(['apply', '-k', path.join(ROOT, 'manifests')]);
    for (const object of workloads()) await kubectl(['apply', '-f', '-'], JSON.stringify(object));
    // As where the control plane is managed.
    const attacher = path.join(ROOT, 'test', 'support', 'stand-ins', 'csi-attacher.ts');
    const command = [process.execPath, '--disable-warning=ExperimentalWarning', attacher, adminKubeconfig] as const;
    this.#stack.use(startProgram(command, path.join(this.#folder, 'attacher.log')));
    await this.untilSettled([...this.#nodes.keys()]);
  }

  /** Waits until, on these machines, the agents watch, all pods are back, nothing is cordoned, and no maintenance is open. */
  async untilSettled(names: readonly string[]): Promise<void> {
    const { timeline } = this;
    const options = { timeoutMs: SETTLE_MS, signal: this.#signal };
    const areWatching = async (): Promise<boolean> => {
      const answers = names.map(async (name) => (await this.machine(name).system().run(AGENT_WATCHES)).code === 0);
      return (await Promise.all(answers)).every(Boolean);
    };
    await waitFor('the agents watch', areWatching, options);
    const left = (): readonly string[] => unsettledOn(names, timeline);
    await waitFor('the machines are settled', () => left().length === 0, options).catch((error: unknown) => {
      throw new Error(left().join(', '), { cause: error });
    });
    const budgets = async (): Promise<boolean> => {
      const healthy = '{.items[*].status.disruptionsAllowed}';
      const allowed = await this.controlPlane.kubectl(['get', 'pdb', '-A', '-o', `jsonpath=${healthy}`]);
      return allowed.split(' ').every((each) => each === '1');
    };
    await waitFor('each budget allows a disruption', budgets, options);
  }

  #logOf(name: string): string {
    return path.join(this.#folder, name, 'disk', 'changes', WITNESS, 'log');
  }

  /** What the pods of a machine have told since it was cleared, also while the machine is off. */
  async witnessed(name: string): Promise<readonly string[]> {
    return (await readFile(this.#logOf(name), 'utf8')).split('\n').filter((line) => line !== '');
  }

  async clearWitness(name: string): Promise<void> {
    await this.machine(name).system().must(`: > ${WITNESS}/log`);
  }

  /**
   * All that an engineer wants to see where a wait fails. The machines first and the pods that do not serve last: whoever reads
   * the end of a failure reads the cause.
   */
  async describe(): Promise<string> {
    const { kubectl } = this.controlPlane;
    const ask = (args: readonly string[]): Promise<string> => kubectl(args).catch(String);
    const said = [...this.#nodes.values()].map(async (node) => {
      if (node.system().hasEnded()) return `--- ${node.name} is off`;
      const { stdout } = await node.system().run('nodemaint status; journalctl -u nodemaint -n 30 --no-pager -o cat');
      return `--- ${node.name}\n${stdout}`;
    });
    const machines = await Promise.all(said);
    const asked = [
      ['get', 'nm', '-o', 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{.status}{"\\n"}{end}'],
      ['get', 'pods,pdb,nodes,nm,evreq,volumeattachments', '-A', '-o', 'wide'],
    ];
    const shown = await Promise.all(asked.map(ask));
    const pods = (this.timeline.list('Pod') as readonly WholePod[]).filter((pod) => !isServing(pod));
    const stuck = pods.map(async ({ metadata, status }) => {
      const { namespace = '', name } = metadata;
      const about = ['-n', namespace, '--field-selector', `involvedObject.name=${name}`, '--sort-by=.lastTimestamp'];
      const events = (await ask(['get', 'events', ...about])).trimEnd().split('\n').slice(-EVENTS_SHOWN);
      return [`--- ${namespace}/${name} ${JSON.stringify(status?.conditions)}`, ...events].join('\n');
    });
    return [...machines, ...shown, ...(await Promise.all(stuck))].join('\n');
  }
}

/** Starts the machines, with nothing on them but the agent and their static pods. */
export async function startMachines(plan: MachinesPlan, signal: AbortSignal): Promise<Machines> {
  await using unlessWhole = new AsyncDisposableStack();
  const stack = unlessWhole.use(new AsyncDisposableStack());
  const folder = await makeTestFolder('machines');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const writes = await createWriteLog(folder);
  // The API server calls the webhook at its pods, for there is no kube-proxy for the Service's address.
  const apiServerFlags = [...writes.flags, '--enable-aggregator-routing=true'];
  const reached = { bindAddress: '0.0.0.0', extraSans: [HOST_FROM_NODES] };
  const controlPlane = stack.use(await startControlPlane({ ...reached, apiServerFlags }, signal));
  await installManifests(controlPlane);
  const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'test');
  const timeline = createTimeline(client);
  const stopping = new AbortController();
  const watching = timeline.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await watching;
    client.close();
  });
  const machines = new Machines({ controlPlane, timeline, writes, folder, stack }, plan.firstNumber, signal);
  for (const name of plan.names) await machines.add(name);
  unlessWhole.move();
  return machines;
}

/** Kills every process of the controller on the machines that are up, as one that runs out of memory would be. */
export async function killControllers(machines: Machines): Promise<void> {
  const pods = machines.timeline.list('Pod').filter(isController);
  const names = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []));
  for (const name of names) {
    const system = machines.machine(name).system();
    if (!system.hasEnded()) await system.run("pkill -KILL -f 'nodemaint.cjs controller'");
  }
}
