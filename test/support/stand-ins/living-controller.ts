import { setTimeout } from 'node:timers/promises';
import { CONTROLLER_LEASE, readLease, writeLease } from '../../../src/kube/lease.ts';
import type { KubeClient } from '../../../src/kube/client.ts';

const RENEW_MS = 2_000;

/** Renews the Lease as a controller that leads does: the test plays the controller, and agents are not to take its place. */
export async function playLivingController(client: KubeClient, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const spec = {
      holderIdentity: 'test',
      leaseDurationSeconds: 15,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    };
    try {
      const old = await readLease(client, CONTROLLER_LEASE, signal);
      await writeLease(client, CONTROLLER_LEASE, { old, spec }, signal);
      await setTimeout(RENEW_MS, undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
