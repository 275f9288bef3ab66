import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { sayOfNode } from './daemon-set.ts';

const EVERY_MS = 5_000;

/** What kubelets do for nodes that have none: each of the nodes says that it is Ready. */
export interface Heartbeats extends AsyncDisposable {
  /** The node is Ready from now on. */
  start(node: string): Promise<void>;
  /** It says nothing more. */
  stop(node: string): void;
}

/** Keeps nodes Ready; an API server that is away is tried again. */
export function startHeartbeats(controlPlane: ControlPlane): Heartbeats {
  const nodes = new Set<string>();
  const stopping = new AbortController();
  const renew = async (node: string): Promise<void> => {
    // The controller manager goes by the time.
    const lastHeartbeatTime = new Date().toISOString();
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Test', lastHeartbeatTime }];
    await sayOfNode(controlPlane, node, { conditions });
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      for (const node of nodes) await renew(node).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  };
  const running = run();
  return {
    start: async (node) => {
      await renew(node);
      nodes.add(node);
    },
    stop: (node) => {
      nodes.delete(node);
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
