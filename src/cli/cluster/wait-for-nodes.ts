import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { transformNode } from '../../kube/copy/transform.ts';
import { createSystemClock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';
import { timeLimit } from '../arguments/parse.ts';
import type { Log } from '../../telemetry/log.ts';

/** Nodes and a maintenance as observed; those that do not exist are absent. */
export interface AwaitedNode {
  readonly maintenance: NodeMaintenance | undefined;
  readonly nodes: readonly Node[];
}

/** How waiting ended. */
interface NodeWaitResult {
  readonly ending: 'done' | 'timeout' | 'interrupted';
  readonly observed: AwaitedNode;
}

/** What to wait for. */
interface AwaitedNodes {
  readonly maintenance: string;
  readonly nodes: readonly string[];
  readonly isDone: (observed: AwaitedNode) => boolean;
  /** Milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
}

const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
/** Up to this many nodes are watched one by one; beyond it, all nodes of the cluster are. */
const MAX_WATCHES = 8;
const SYNC_MS = 50;

/**
 * Watches a maintenance and its nodes until they are as awaited, the time is over, or the signal is aborted.
 */
export async function waitForNodes(
  { maintenance, nodes, isDone, timeoutMs }: AwaitedNodes,
  client: KubeClient,
  signal: AbortSignal,
): Promise<NodeWaitResult> {
  const ending = new AbortController();
  const clock = createSystemClock();
  const dependencies = { client, clock, log: SILENT };
  const onChange = (): void => {
    if (isReady() && isDone(observed())) ending.abort();
  };
  const scope = { resource: NODE_MAINTENANCES, fieldSelector: `metadata.name=${maintenance}` };
  const own = createObjectCache<NodeMaintenance>(scope, onChange, dependencies);
  const selectors = nodes.length <= MAX_WATCHES ? nodes.map((name) => `metadata.name=${name}`) : [undefined];
  const caches = selectors.map((fieldSelector) => {
    const narrow = fieldSelector === undefined ? {} : { fieldSelector };
    return createObjectCache<Node>({ resource: NODES, ...narrow }, onChange, dependencies, transformNode);
  });
  const isReady = (): boolean => own.synced() && caches.every((cache) => cache.synced());
  const observed = (): AwaitedNode => ({
    maintenance: own.get(maintenance),
    nodes: caches.flatMap((cache) => cache.list()).filter(({ metadata }) => nodes.includes(metadata.name)),
  });
  const stop = AbortSignal.any([ending.signal, signal, timeLimit(timeoutMs)]);
  // A first list without objects calls no onChange.
  const firstReport = async (): Promise<void> => {
    while (!isReady() && !stop.aborted) await clock.sleep(SYNC_MS, stop).catch(() => undefined);
    onChange();
  };
  await Promise.all([own.run(stop), ...caches.map((cache) => cache.run(stop)), firstReport()]);
  const how = ending.signal.aborted ? 'done' : signal.aborted ? 'interrupted' : 'timeout';
  return { ending: how, observed: observed() };
}
