/** What the leader does: one loop for each noun. Each loop says in its own file which changes concern it. */
import { once } from 'node:events';
import { createEvictionConcurrency } from '../../kube/eviction/concurrency.ts';
import { behindOf, type CurrentCopy } from '../../kube/leader/readiness.ts';
import { createLoops, type Loop } from '../../kube/loop/loops.ts';
import { keyOf } from '../../kube/resource.ts';
import { byResource } from '../cache/copies.ts';
import { type ChangeNotes, type Changes, createChangeNotes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import { createDaemonSetGate, gateLoop } from '../daemon-set/gate.ts';
import { createDaemonSetInterceptor } from '../daemon-set/interceptor.ts';
import { rolloutLoop } from '../daemon-set/rollout.ts';
import { createImperativeEviction } from '../eviction/imperative.ts';
import { evictionRequestLoop } from '../eviction/loop.ts';
import { EvictionRoom } from '../eviction/limits.ts';
import { maintenanceLoop, requesterLoop } from '../maintenance/loops.ts';
import { nodeLoop } from '../maintenance/nodes.ts';
import { Refusals } from '../maintenance/refusals.ts';
import { createGroupedEvictions } from '../eviction/grouped-pods.ts';

/** After this time the runs under way are cut short when the leader is to stop. */
const FINISH_MS = 5_000;

/** The work of one term. Nothing that one has in memory is of use in the next. */
export interface Leader {
  /** Told of each change of an object, by its kind. */
  readonly notes: ChangeNotes;
  /** The keys of the requests whose eviction is promised to be carried out in the background (KEP-1397). */
  promised(): readonly string[];
  /**
   * Works on all objects, and then on those that change, until `stop` is aborted; the runs under way then have a few
   * seconds to end. `signal` cuts them short.
   */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** Notes all objects; what a former term left behind is given back, so these are also the nodes and requests of no maintenance. */
function noteAll(context: ControllerContext, notes: ChangeNotes): void {
  for (const node of context.nodes.list()) notes.Node(node.metadata.name);
  for (const maintenance of context.maintenances.list()) notes.Maintenance(maintenance.metadata.name);
  for (const request of context.requests.list()) notes.Request(keyOf(request));
  for (const pod of context.pods.list()) notes.Pod(keyOf(pod));
}

/**
 * Runs `work` until `stop`, and FINISH_MS longer at most: then the signal that it gets is aborted. Events are written until it
 * has ended.
 */
async function finishing(
  { clock, events }: ControllerContext,
  work: (signal: AbortSignal) => Promise<unknown>,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const [late, finished] = [new AbortController(), new AbortController()];
  const cut = AbortSignal.any([signal, late.signal]);
  const writingEvents = events.run(AbortSignal.any([finished.signal, cut]));
  const limit = async (): Promise<void> => {
    const ended = AbortSignal.any([stop, finished.signal]);
    if (!ended.aborted) await once(ended, 'abort');
    await clock.sleep(FINISH_MS, finished.signal);
    late.abort();
  };
  const limiting = limit().catch(() => undefined);
  try {
    await work(cut);
  } finally {
    finished.abort();
    await Promise.all([writingEvents, limiting]);
  }
}

/** Creates the loops of a leader; `context.client` is the one that stops writing when the term is over. */
export function createLeader(context: ControllerContext): Leader {
  const { clock, log, metrics } = context;
  // From copies of different ages, as after a restart of the API server, a drain would seem to have come to its end.
  const mayRun = (): boolean => behindOf(byResource<CurrentCopy>(context)).length === 0;
  const shared = { clock, log, mayRun, observer: (name: string) => metrics.queue(name) };
  const loops = createLoops<Changes>();
  const refused = new Refusals(clock, (key) => {
    loops.tell('Refused', key);
  });
  const drains = { refused, room: new EvictionRoom(context) };
  const underWay = createEvictionConcurrency(clock);
  const imperative = createImperativeEviction(context, underWay);
  const gate = createDaemonSetGate(context);
  const all: readonly Loop<Changes>[] = [
    maintenanceLoop(context, drains),
    nodeLoop(context, refused),
    requesterLoop(context, drains, createGroupedEvictions(context, underWay)),
    evictionRequestLoop(context, imperative, createDaemonSetInterceptor(context)),
    gateLoop(context, gate),
    rolloutLoop(context, gate),
  ];
  for (const loop of all) loops.add(loop, shared);
  const notes = createChangeNotes(context, loops.tell);
  return {
    notes,
    promised: () => imperative.promised(),
    run: async (stop, signal) => {
      const ending = AbortSignal.any([stop, signal]);
      // All are noted before the first is looked at.
      noteAll(context, notes);
      const work = (cut: AbortSignal): Promise<unknown> => loops.run(ending, cut);
      await finishing(context, work, stop, signal);
    },
  };
}
