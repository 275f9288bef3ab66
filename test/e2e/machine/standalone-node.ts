import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { staticPod } from '../../node/pods.ts';
import { machineImage } from './image.ts';
import { installAgent } from './install.ts';
import { startKubelet } from './kube-node.ts';
import { bootMachine, type Machine } from './machine.ts';
import { allBack } from './shutdown-case.ts';
import { startWitness, WITNESS } from './witness.ts';

/** The manifests of a node that stands alone, as `sha256sum` prints them. */
export const MANIFESTS = 'cd /etc/kubernetes/manifests && sha256sum *';

/** Makes the static pods `low` and `high`, which take `stopSec` to end. */
export async function writeStaticPods(machine: Machine, stopSec: number): Promise<void> {
  const pods = {
    low: staticPod('low', { stopSec, witness: WITNESS }),
    high: staticPod('high', { stopSec, witness: WITNESS, priorityClassName: 'system-node-critical' }),
  };
  for (const [name, pod] of Object.entries(pods)) {
    const input = JSON.stringify(pod, null, 1);
    await machine.must(`cat > /root/${name} && mv /root/${name} /etc/kubernetes/manifests/${name}.yaml`, { input });
  }
}

/**
 * A machine with the real kubelet and the agent, and no API server: static pods `low` and `high`, which take `stopSec`
 * to end. Resolves when both run and the agent watches.
 */
export async function standaloneNode(stopSec: number, signal: AbortSignal): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await bootMachine(await machineImage(signal), [], signal));
  const { kubelet } = await controlPlaneBinaries(signal);
  await startKubelet(machine, { kubelet, name: 'node-a' });
  await startWitness(machine);
  await writeStaticPods(machine, stopSec);
  await installAgent(machine, ['--standalone']);
  await allBack(machine);
  stack.move();
  return machine;
}
