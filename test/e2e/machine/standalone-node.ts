import process from 'node:process';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { type PodShape, staticPod } from '../../node/pods.ts';
import { machineImage } from './image.ts';
import { installAgent } from './install.ts';
import { startKubelet } from './kube-node.ts';
import { bootMachine, type Machine } from './machine.ts';
import { allBack } from './shutdown-case.ts';
import { startWitness, WITNESS } from './witness.ts';

const REBOOT_MS = 180_000;

/** The manifests of a node that stands alone, as `sha256sum` prints them. */
export const MANIFESTS = 'cd /etc/kubernetes/manifests && sha256sum *';

/** Makes the static pods `low` and `high`, which take `stopSec` to end; `low` may end in another way. */
export async function writeStaticPods(machine: Machine, stopSec: number, low: PodShape = {}): Promise<void> {
  const pods = {
    low: staticPod('low', { stopSec, witness: WITNESS, ...low }),
    high: staticPod('high', { stopSec, witness: WITNESS, priorityClassName: 'system-node-critical' }),
  };
  for (const [name, pod] of Object.entries(pods)) {
    const input = JSON.stringify(pod, null, 1);
    await machine.must(`cat > /root/${name} && mv /root/${name} /etc/kubernetes/manifests/${name}.yaml`, { input });
  }
}

/** What is on a node that stands alone. */
export interface StandaloneOptions {
  /** How long its static pods take to end. */
  readonly stopSec: number;
  /** In what the pod `low` differs. */
  readonly low?: PodShape;
  /** Installs the agent; with install.sh unless told. */
  install?(machine: Machine): Promise<void>;
}

/** The bus that NODEMAINT_E2E_BUS names; dbus-daemon unless told. */
function chosenBus(): 'dbus-broker' | 'dbus-daemon' {
  const told = process.env['NODEMAINT_E2E_BUS'] ?? 'dbus-daemon';
  if (told === 'dbus-daemon' || told === 'dbus-broker') return told;
  throw new Error(`NODEMAINT_E2E_BUS is "${told}"; it can be dbus-daemon or dbus-broker`);
}

/** Boots a machine of the chosen release with the chosen bus. */
async function bootChosen(signal: AbortSignal): Promise<Machine> {
  const machine = await bootMachine(await machineImage(signal), {}, signal);
  const bus = chosenBus();
  if (bus === 'dbus-daemon') return machine;
  try {
    const bootId = await machine.bootId();
    await machine.must(`systemctl enable ${bus} && sync && systemctl reboot`);
    await machine.waitForReboot(bootId, REBOOT_MS);
    await machine.must(`systemctl is-active ${bus}`);
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
  return machine;
}

/**
 * A machine with the real kubelet and the agent, and no API server: static pods `low` and `high`. Resolves when both run
 * and the agent watches.
 */
export async function standaloneNode(options: StandaloneOptions, signal: AbortSignal): Promise<Machine> {
  const { stopSec, low, install = (machine) => installAgent(machine, ['--standalone']) } = options;
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await bootChosen(signal));
  const { kubelet } = await controlPlaneBinaries(signal);
  await startKubelet(machine, { kubelet, name: 'node-a' });
  await startWitness(machine);
  await writeStaticPods(machine, stopSec, low);
  await install(machine);
  await allBack(machine);
  stack.move();
  return machine;
}
