import type { EvictionRequest } from '../../../api/eviction-request.ts';
import { NODE_LABEL } from '../../../api/names.ts';
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { transformPod, transformRequest } from '../../../kube/transform.ts';
import { nodeLabel } from '../../../decide/node-label.ts';
import { drainView, type DrainView, type SeenPods, withSeen } from '../../../decide/view/drain-progress.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { missingPermission } from '../../../kube/refusal.ts';
import { EVICTION_REQUESTS, NODE_MAINTENANCES, PODS } from '../../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../../kube/watch.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { DrainScreen } from './screen.ts';

/** The maintenance to watch, and its nodes as far as they are known before the controller names them. */
export interface DrainWatchTarget {
  readonly name: string;
  readonly uid: string;
  readonly nodes: readonly string[];
}

/** What watching needs from outside. */
export interface DrainWatchContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly screen: DrainScreen;
}

/** How watching ended; `deleted` also where the maintenance was replaced by another of its name. */
export interface DrainWatchResult {
  readonly ending: 'drained' | 'completed' | 'deleted' | 'timeout' | 'interrupted';
  readonly view?: DrainView;
}

const TICK_MS = 1_000;
/** Changes come in bursts, one of which is drawn at once, in milliseconds. */
const BURST_MS = 50;
/** A lost connection is mentioned until it must have been taken up again. */
const OUTAGE_SLACK_MS = 2_000;
/** A controller takes a maintenance up within a second; after so long without one somebody has to be told. */
const OVERLOOKED_MS = 15_000;
/** The pods of so many nodes are watched node by node; of more, all pods are. */
const MAX_WATCHES = 16;

/** Whether the server denied us something, rather than being in trouble itself. */
function isDenial(error: unknown): error is NodemaintError {
  const words = /is forbidden|Unauthorized|ended with 40[13]|could not find the requested resource/;
  return error instanceof NodemaintError && error.code === 'API_REFUSED' && words.test(error.message);
}

/**
 * Shows a maintenance until its nodes are drained, it is complete or gone, the time is over, or `stop` is aborted.
 * Watches only, one connection a resource (and one for the pods of each node). Throws API_REFUSED where it is not allowed.
 */
export async function watchDrain(
  target: DrainWatchTarget,
  { client, clock, screen }: DrainWatchContext,
  timeoutMs: number | undefined,
  stop: AbortSignal,
): Promise<DrainWatchResult> {
  const startedAt = clock.monotonic();
  const ending = new AbortController();
  let nap = new AbortController();
  let outageUntil = 0;
  let refused: NodemaintError | undefined;
  let seen: SeenPods = new Map();
  let view: DrainView | undefined;

  const wake = (): void => {
    nap.abort();
  };
  const onTrouble = (fields: object): void => {
    const { err, retryMs = 0 } = fields as { readonly err?: unknown; readonly retryMs?: number };
    // At the very beginning it will be so for ever; later it may be a server that just starts.
    if (isDenial(err) && view === undefined) {
      refused ??= new NodemaintError('API_REFUSED', `${err.message}${missingPermission(err.message)}`, { cause: err });
    }
    outageUntil = clock.monotonic() + 1.5 * retryMs + OUTAGE_SLACK_MS;
    screen.note(`The connection is lost, and tried again: ${describeError(err)}`);
    wake();
  };
  // The caches report to a log what they go on after.
  const log: Log = { debug: () => undefined, info: () => undefined, warn: onTrouble, error: onTrouble };
  const dependencies = { client, clock, log };

  const own = { resource: NODE_MAINTENANCES, fieldSelector: `metadata.name=${target.name}` };
  const maintenances = createObjectCache<NodeMaintenance>(own, wake, dependencies);
  const requests = createObjectCache<EvictionRequest>(
    target.nodes.length > 0 && target.nodes.length <= MAX_WATCHES
      ? { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL} in (${target.nodes.map(nodeLabel).join(',')})` }
      : { resource: EVICTION_REQUESTS },
    wake,
    dependencies,
    transformRequest,
  );
  const podCache = (node: string | undefined): ObjectCache<Pod> => {
    const scope = node === undefined ? {} : { fieldSelector: `spec.nodeName=${node}` };
    return createObjectCache<Pod>({ resource: PODS, ...scope }, wake, dependencies, transformPod);
  };
  const isFew = target.nodes.length > 0 && target.nodes.length <= MAX_WATCHES;
  const pods = (isFew ? target.nodes : [undefined]).map(podCache);

  const look = (): DrainWatchResult['ending'] | undefined => {
    if (![maintenances, requests, ...pods].every((cache) => cache.synced())) return undefined;
    const maintenance = maintenances.get(target.name);
    if (maintenance?.metadata.uid !== target.uid) return 'deleted';
    const named = maintenance.status?.nodeStatuses?.map(({ nodeRef }) => nodeRef.name) ?? [];
    const nodes = [...new Set([...target.nodes, ...named])].toSorted();
    const present = pods.flatMap((cache) => cache.list()).filter(({ spec }) => nodes.includes(spec.nodeName ?? ''));
    seen = withSeen(seen, present);
    const requestOf = ({ metadata: { namespace, uid } }: Pod): EvictionRequest | undefined =>
      requests.get(`${namespace}/${uid}`);
    view = drainView({ maintenance, nodes, pods: present, requestOf, seen }, clock.now());
    screen.changed(view);
    if (view.stage === 'Complete') return 'completed';
    return view.stage === 'Drain' && view.drained ? 'drained' : undefined;
  };

  const follow = async (): Promise<DrainWatchResult> => {
    for (;;) {
      nap = new AbortController();
      if (refused !== undefined) throw refused;
      const found = look();
      const isOverlooked = view !== undefined && view.since === undefined && view.stage !== 'Idle';
      if (isOverlooked && clock.monotonic() - startedAt >= OVERLOOKED_MS) {
        screen.note('No controller takes the maintenance up; is nodemaint controller running?');
      } else if (outageUntil === 0 || clock.monotonic() > outageUntil) {
        outageUntil = 0;
        screen.note(undefined);
      }
      screen.draw();
      if (found !== undefined) return { ending: found, ...(view === undefined ? {} : { view }) };
      const result = view === undefined ? {} : { view };
      if (stop.aborted) return { ending: 'interrupted', ...result };
      if (timeoutMs !== undefined && clock.monotonic() - startedAt >= timeoutMs)
        return { ending: 'timeout', ...result };
      await clock.sleep(TICK_MS, nap.signal).catch(() => undefined);
      if (!stop.aborted) await clock.sleep(BURST_MS, ending.signal);
    }
  };

  const watching = Promise.all([maintenances, requests, ...pods].map((cache) => cache.run(ending.signal)));
  stop.addEventListener('abort', wake, { once: true });
  try {
    return await follow();
  } finally {
    stop.removeEventListener('abort', wake);
    ending.abort();
    await watching;
  }
}
