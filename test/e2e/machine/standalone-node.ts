import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { staticPod } from '../../node/pods.ts';
import { machineImage } from './image.ts';
import { installAgent } from './install.ts';
import { startKubelet } from './kube-node.ts';
import { bootMachine, type Machine } from './machine.ts';
import { allBack } from './shutdown-case.ts';
import { startWitness, WITNESS } from './witness.ts';

/** How long its static pods take to end. */
const STOP_SEC = 4;

/** Makes the static pods `low` and `high`. */
async function writeStaticPods(machine: Machine): Promise<void> {
  const shape = { stopSec: STOP_SEC, witness: WITNESS };
  const pods = {
    low: staticPod('low', shape),
    high: staticPod('high', { ...shape, priorityClassName: 'system-node-critical' }),
  };
  for (const [name, pod] of Object.entries(pods)) {
    const input = JSON.stringify(pod, null, 1);
    await machine.must(`cat > /root/${name} && mv /root/${name} /etc/kubernetes/manifests/${name}.yaml`, { input });
  }
}

/**
 * A machine with the real kubelet and the agent, and no API server: static pods `low` and `high`. Resolves when both run
 * and the agent watches.
 */
export async function standaloneNode(signal: AbortSignal): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await bootMachine(await machineImage(signal), {}, signal));
  const { kubelet } = await controlPlaneBinaries(signal);
  await startKubelet(machine, { kubelet, name: 'node-a' });
  await startWitness(machine);
  await writeStaticPods(machine);
  await installAgent(machine, ['--standalone']);
  await allBack(machine);
  stack.move();
  return machine;
}
