/**
 * `npm run bench -- control-plane`: members of a control plane of three reboot, one after another, and users of the API look on. The
 * same beside `kubectl drain` with the kubelet's own graceful shutdown, and beside a reboot with neither. It needs haproxy and curl.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { startProgram } from '../../control-plane/process.ts';
import { AGENT_WATCHES } from '../../e2e/machine/install.ts';
import { installManifests } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CHECKOUT } from '../../systemd/container.ts';
import { pause } from '../parallel.ts';
import { percentile } from '../quantile.ts';
import { type Clients, type Seen, startClients } from './clients.ts';
import { MEMBERS, startMembers, type ThreeMembers } from './members.ts';

const STEP_MS = 900_000;
/** A machine takes longer to boot than a container. */
const OFF_MS = 5_000;
/** After this time the clients have seen all that follows from a member that is back. */
const AFTER_MS = 3_000;
const WAYS = {
  nodemaint: { what: 'node-maintenance-agent', kubelet: {} },
  kubelet: {
    what: 'kubectl drain, and the graceful shutdown of the kubelet',
    kubelet: { shutdownGracePeriod: '60s', shutdownGracePeriodCriticalPods: '40s' },
  },
  stop: { what: 'systemctl reboot alone', kubelet: {} },
} as const;
type Way = keyof typeof WAYS;

async function untilAgentsWatch({ system, kubectl }: ThreeMembers): Promise<void> {
  const isOver = async (): Promise<boolean> => {
    const watching = await Promise.all(MEMBERS.map(async (name) => (await system(name).run(AGENT_WATCHES)).code === 0));
    const stages = await kubectl(['get', 'nm', '-o', 'jsonpath={.items[*].spec.stage}']);
    const cordoned = await kubectl(['get', 'nodes', '-o', 'jsonpath={.items[*].spec.unschedulable}']);
    return watching.every(Boolean) && cordoned === '' && /^(?:Complete ?)*$/.test(stages);
  };
  await waitFor('each maintenance is over', isOver, { timeoutMs: STEP_MS });
}

/** Asks a machine to reboot, and boots it when it is down; returns after how many seconds it was. */
async function reboot({ system, boot }: ThreeMembers, name: string, onDown: (change: number) => void): Promise<number> {
  const begun = performance.now();
  await system(name).must('systemctl reboot --no-block');
  await waitFor(`${name} is down`, () => system(name).hasEnded(), { timeoutMs: STEP_MS });
  const downSec = (performance.now() - begun) / 1_000;
  onDown(1);
  await pause(OFF_MS, AbortSignal.timeout(STEP_MS));
  await boot(name);
  onDown(-1);
  return downSec;
}

/** What was seen while members left and came back. */
interface Leaving extends Omit<Seen, 'reasons'> {
  readonly terms: number;
  readonly downSec: number;
  readonly sec: number;
  /** The most machines that were down at once. */
  readonly down: number;
}

/** These members are asked to reboot at once; returns when all is as before. */
async function leaveAndComeBack(
  members: ThreeMembers,
  way: Way,
  clients: Clients,
  names: readonly string[],
): Promise<Leaving> {
  const { kubectl } = members;
  const [term, begun] = [await members.term(), performance.now()];
  clients.take();
  let [now, down] = [0, 0];
  const note = (change: number): void => void (down = Math.max(down, (now += change)));
  const drain = ['--ignore-daemonsets', '--force', '--delete-emptydir-data'];
  if (way === 'kubelet') for (const name of names) await kubectl(['drain', name, ...drain]);
  const seconds = await Promise.all(names.map((name) => reboot(members, name, note)));
  await members.untilWhole();
  if (way === 'kubelet') await kubectl(['uncordon', ...names]);
  if (way === 'nodemaint') await untilAgentsWatch(members);
  const sec = (performance.now() - begun) / 1_000;
  await pause(AFTER_MS, AbortSignal.timeout(STEP_MS));
  const { reasons, ...seen } = clients.take();
  const leaving = { ...seen, terms: (await members.term()) - term, downSec: Math.max(...seconds), sec, down };
  console.log(`  ${names.join(', ')}: ${JSON.stringify(leaving)} ${JSON.stringify([...reasons])}`);
  return leaving;
}

function tableOf(leavings: readonly Leaving[]): string {
  const names = Object.keys(leavings[0] ?? {}) as (keyof Leaving)[];
  const rows = names.map((name) => {
    const values = leavings.map((each) => each[name]);
    const sum = values.reduce((a, b) => a + b, 0);
    return `  ${name.padEnd(16)} median ${percentile(values, 0.5).toFixed(0)}, worst ${Math.max(...values).toFixed(0)}, sum ${sum.toFixed(0)}`;
  });
  return rows.join('\n');
}

/** Whether the word of the command line is for this bench. */
export function isControlPlane(word: string): boolean {
  return word === 'control-plane' || word.startsWith('control-plane=');
}

/** The controller runs beside the machines, and the agents as install.sh installs them. */
async function install(
  members: ThreeMembers,
  program: readonly [string, ...string[]],
  folder: string,
): Promise<AsyncDisposable> {
  const kubeconfig = await installManifests(members as unknown as ControlPlane);
  await members.kubectl(['delete', 'validatingwebhookconfiguration', 'nodemaint-webhook', '--ignore-not-found']);
  const command = [...program, 'controller', '--kubeconfig', kubeconfig] as const;
  const controller = startProgram(command, path.join(folder, 'controller.log'));
  for (const name of MEMBERS) await members.system(name).must(`${CHECKOUT}/install.sh`);
  await untilAgentsWatch(members);
  return controller;
}

/**
 * Runs what `control-plane=WAY@LEAVINGS,DELAY` asks for: the way (nodemaint, kubelet or stop), how many members leave, and the
 * --shutdown-delay-duration of kube-apiserver in seconds. Every way ten times with a delay of 5 s where nothing is said.
 */
export async function benchControlPlane(
  word: string,
  program: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<void> {
  const [wanted = '', sizes = '10,5'] = word.replace(/^control-plane=?/, '').split('@');
  const [count = 10, delaySec = 5] = sizes.split(',').map(Number);
  for (const way of (Object.keys(WAYS) as Way[]).filter((each) => wanted === '' || wanted === each)) {
    await using stack = new AsyncDisposableStack();
    const folder = await makeTestFolder('members');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const members = stack.use(await startMembers(folder, { delaySec, kubelet: WAYS[way].kubelet }, signal));
    if (way === 'nodemaint') stack.use(await install(members, program, folder));
    using clients = await startClients(members.access);
    const leavings: Leaving[] = [];
    console.log(`${WAYS[way].what}, ${count} members, --shutdown-delay-duration=${delaySec}s; times in ms`);
    for (let index = 0; index < count; index += 1)
      leavings.push(await leaveAndComeBack(members, way, clients, [MEMBERS[index % MEMBERS.length] ?? '']));
    console.log(tableOf(leavings));
    if (way === 'nodemaint') await leaveAndComeBack(members, way, clients, MEMBERS);
  }
}
