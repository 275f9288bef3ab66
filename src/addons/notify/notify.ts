/** Tells people of drains: one process leads, by a Lease, and what was told is written down for the next one. */
import { hostname } from 'node:os';
import { AGENT_STATUS_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import { createCurrencyCheck } from '../../kube/copy/currency.ts';
import { untilSynced } from '../../kube/copy/synced.ts';
import { runElection } from '../../kube/leader/election.ts';
import { createLeaderReadiness } from '../../kube/leader/readiness.ts';
import type { Term } from '../../kube/leader/term.ts';
import { createWorkQueue } from '../../kube/queue.ts';
import { NODE_MAINTENANCES, NODES } from '../../kube/resource.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import { createNotifier, type NotifyOptions } from './notifier.ts';
import { readReceiver } from './receiver.ts';
import { loadRecord, type SentRecord } from './record.ts';

const NAMESPACE = 'nodemaint-system';
const LEASE = { namespace: NAMESPACE, name: 'nodemaint-notify' };
/** As the controller's. */
const TIMES = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
/** A receiver that hangs holds up so many maintenances at most; the others wait. */
const PARALLEL = 8;
const LOAD_AGAIN_MS = 10_000;

/** The live copies that messages are decided from. */
interface Copies {
  readonly maintenances: ObjectCache<NodeMaintenance>;
  readonly nodes: ObjectCache<Node>;
}

/** What one term has to be told of: the name of a maintenance, or of a node. */
interface Listener {
  readonly maintenance: (name: string) => void;
  readonly node: (name: string) => void;
}

/** What is read of a Node: what its agent says. */
function readNode({ metadata: { name, resourceVersion, annotations = {} } }: Node): Node {
  const said = annotations[AGENT_STATUS_ANNOTATION];
  return {
    metadata: {
      name,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(said === undefined ? {} : { annotations: { [AGENT_STATUS_ANNOTATION]: said } }),
    },
  };
}

/** The record, as soon as it can be read; undefined where the signal is aborted before. */
async function recordOf(
  { client, clock, log }: ServiceDependencies,
  signal: AbortSignal,
): Promise<SentRecord | undefined> {
  while (!signal.aborted) {
    try {
      return await loadRecord(client, NAMESPACE, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn({ reason: describeError(error) }, 'cannot read what was told, trying again');
      await clock.sleep(LOAD_AGAIN_MS, signal).catch(() => undefined);
    }
  }
  return undefined;
}

/** Tells of all drains for one term, until `stop` is aborted or the term is over. */
async function lead(
  dependencies: ServiceDependencies & { readonly copies: Copies; readonly options: NotifyOptions },
  listen: (listener: Listener | undefined) => void,
  term: Term,
  stop: AbortSignal,
): Promise<void> {
  const { clock, log, copies, options } = dependencies;
  const ending = AbortSignal.any([stop, term.signal]);
  const record = await recordOf({ client: term.fence(dependencies.client), clock, log }, ending);
  if (record === undefined) return;
  const notifier = createNotifier(options, { ...copies, clock, log, record });
  const mayRun = createCurrencyCheck({ ...copies }, { clock, log });
  const queue = createWorkQueue('messages', notifier.reconcile, PARALLEL, { clock, log, mayRun });
  listen({
    maintenance: (name) => {
      queue.add(name);
    },
    node: (name) => {
      for (const each of notifier.remembered(name)) queue.add(each);
    },
  });
  for (const { metadata } of copies.maintenances.list()) queue.add(metadata.name);
  for (const name of notifier.remembered()) queue.add(name);
  try {
    // A message that is under way at the end is finished, and written down.
    await queue.run(ending, term.signal);
  } finally {
    listen(undefined);
  }
}

/**
 * Tells people of drains until `signal` is aborted. Throws USAGE where the files of the Secret are not as they must be at the
 * start.
 */
export async function runNotify(
  dependencies: ServiceDependencies,
  options: NotifyOptions,
  signal: AbortSignal,
): Promise<void> {
  await readReceiver(options.secretFolder);
  let listener: Listener | undefined;
  const onMaintenance = (name: string): void => listener?.maintenance(name);
  const onNode = (name: string): void => listener?.node(name);
  const maintenances = createObjectCache<NodeMaintenance>({ resource: NODE_MAINTENANCES }, onMaintenance, dependencies);
  const nodes = createObjectCache<Node>({ resource: NODES }, onNode, dependencies, readNode);
  const copies: Copies = { maintenances, nodes };
  const standing = async (): Promise<void> => {
    await untilSynced([maintenances, nodes], dependencies.clock, signal);
    if (signal.aborted) return;
    const readiness = createLeaderReadiness(() => ({ maintenances, nodes }), dependencies);
    const election = { place: LEASE, identity: `${hostname()}_${crypto.randomUUID()}`, ...TIMES };
    const listen = (next: Listener | undefined): void => {
      listener = next;
    };
    const leading = (term: Term): Promise<void> => lead({ ...dependencies, copies, options }, listen, term, signal);
    await runElection(election, { ...dependencies, readiness, onLeading: () => undefined }, leading, signal);
  };
  await Promise.all([maintenances.run(signal), nodes.run(signal), standing()]);
}
