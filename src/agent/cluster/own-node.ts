import type { Node } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import { NODES, objectPath, sendForObject } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from './dependencies.ts';

/** What the API server says of the Node object of this machine. */
type OwnNodeState =
  | { readonly kind: 'present'; readonly node: Node }
  /** There is none; `forMs` since that was read first, with no other answer since. */
  | { readonly kind: 'absent'; readonly forMs: number }
  /** The API server does not answer. */
  | { readonly kind: 'unknown' };

/** The Node object of this machine, which others may delete while the machine runs. */
export interface OwnNode {
  /** Reads it, unless it was read less than `maxAgeMs` ago. Throws only the reason of an aborted `signal`. */
  observe(maxAgeMs: number, signal: AbortSignal): Promise<OwnNodeState>;
}

/** A read that takes longer ends: the loop must not wait for it. */
const READ_MS = 2_000;

/** Creates the reader; nothing is asked before the first call. */
export function createOwnNode({ client, clock, log, nodeName }: ClusterDependencies): OwnNode {
  const request = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
  /** Times on the monotonic clock. */
  let last: { readonly state: OwnNodeState; readonly at: number } | undefined;
  let absentSince: number | undefined;
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot read own Node object');
  });

  const read = async (signal: AbortSignal): Promise<OwnNodeState> => {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      const node = await sendForObject<Node>(client, request, [404], limited);
      warnOnce(undefined);
      const now = clock.monotonic();
      if (node === undefined) {
        absentSince ??= now;
        return { kind: 'absent', forMs: now - absentSince };
      }
      absentSince = undefined;
      return { kind: 'present', node };
    } catch (error) {
      signal.throwIfAborted();
      absentSince = undefined;
      warnOnce(describeError(error));
      return { kind: 'unknown' };
    }
  };

  return {
    observe: async (maxAgeMs, signal) => {
      if (last !== undefined && clock.monotonic() - last.at < maxAgeMs) return last.state;
      last = { state: await read(signal), at: clock.monotonic() };
      return last.state;
    },
  };
}
