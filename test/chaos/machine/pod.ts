import { setTimeout as sleep } from 'node:timers/promises';
import type { Manifest } from '../../../src/static-pods/manifest/manifest.ts';
import type { RuntimePod } from '../../support/stand-ins/static-pod-runtime.ts';

/** How long a pod takes to end. */
const ENDING_MS = 150;

/** A static pod as the container runtime of a machine shows it. */
export interface MachinePod extends RuntimePod {
  /** Ends it as the kubelet does. */
  end(): void;
}

/** Starts the pod of a manifest: nothing but an entry in the list of the container runtime. */
export function startPod(manifest: Manifest): MachinePod {
  const id = crypto.randomUUID();
  let endsAt = Infinity;
  const end = (): void => void (endsAt = Math.min(endsAt, Date.now() + ENDING_MS));
  return {
    manifest,
    id,
    containerId: `${id}-main`,
    createdAt: Date.now(),
    state: () => {
      if (endsAt === Infinity) return 'running';
      return Date.now() >= endsAt ? 'ended' : 'stopping';
    },
    stop: async () => {
      end();
      await sleep(ENDING_MS);
    },
    end,
  };
}
