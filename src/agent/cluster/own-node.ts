import type { Node } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import { NODES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';
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
  /** The same; undefined where there is none. Throws API_UNREACHABLE and API_REFUSED. */
  read(maxAgeMs: number, signal: AbortSignal): Promise<Node | undefined>;
  /** Has it read anew the next time: this agent has changed it. */
  forget(): void;
}

/** A read that takes longer ends: the loop must not wait for it. */
const READ_MS = 2_000;

/** Creates the reader; nothing is asked before the first call. */
export function createOwnNode({ client, clock, log, nodeName }: ClusterDependencies): OwnNode {
  const request = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
  /** Times on the monotonic clock. */
  let last: { readonly state: OwnNodeState; readonly at: number } | undefined;
  let absentSince: number | undefined;
  const warnOnce = createWarnOnce(log, 'cannot read own Node object');

  /** The last state, where it is not older, or a new one; throws where the API server does not tell it. */
  const known = async (maxAgeMs: number, signal: AbortSignal): Promise<OwnNodeState> => {
    if (last !== undefined && clock.monotonic() - last.at < maxAgeMs) return last.state;
    try {
      const node = await sendForObject<Node>(client, request, [404], signal);
      const at = clock.monotonic();
      absentSince = node === undefined ? (absentSince ?? at) : undefined;
      const state: OwnNodeState =
        node === undefined ? { kind: 'absent', forMs: at - (absentSince ?? at) } : { kind: 'present', node };
      warnOnce(undefined);
      last = { state, at };
      return state;
    } catch (error) {
      absentSince = undefined;
      last = { state: { kind: 'unknown' }, at: clock.monotonic() };
      throw error;
    }
  };

  return {
    observe: async (maxAgeMs, signal) => {
      try {
        return await known(maxAgeMs, AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]));
      } catch (error) {
        signal.throwIfAborted();
        warnOnce(describeError(error));
        return { kind: 'unknown' };
      }
    },
    read: async (maxAgeMs, signal) => {
      const state = await known(last?.state.kind === 'unknown' ? 0 : maxAgeMs, signal);
      return state.kind === 'present' ? state.node : undefined;
    },
    forget: () => {
      last = undefined;
    },
  };
}
