import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

const EVERY_MS = 2_000;
const LEASE_SEC = 15;

/** Somebody with the rights of the controller who keeps its Lease and does none of its work. */
export interface FalseLeader extends AsyncDisposable {
  /** Says that a maintenance has drained its node. */
  sayDrained(maintenance: string, node: string): Promise<void>;
}

/** Takes the Lease, and renews it until it is disposed of. */
export async function startFalseLeader({ kubectl }: ControlPlane): Promise<FalseLeader> {
  const stopping = new AbortController();
  const renew = async (): Promise<void> => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'nodemaint-controller', namespace: 'nodemaint-system' },
      spec: { holderIdentity: 'thief', leaseDurationSeconds: LEASE_SEC, renewTime },
    };
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(lease));
  };
  await renew();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await delay(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) await renew().catch(() => undefined);
    }
  };
  const running = run();
  return {
    sayDrained: async (maintenance, node) => {
      const now = new Date().toISOString();
      const condition = { type: 'Drained', status: 'True', reason: 'Drained', message: '', lastTransitionTime: now };
      const nodeStatus = { nodeRef: { name: node }, podsPendingEvacuation: 0, podsEvacuating: 0 };
      const body = { status: { conditions: [condition], nodeStatuses: [nodeStatus] } };
      const how = ['--subresource=status', '--type=merge', '-p', JSON.stringify(body)];
      await kubectl(['patch', 'nm', maintenance, ...how]);
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
