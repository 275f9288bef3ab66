import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { createLogOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';
import { decideMessage, type DrainMessage, hasEnded, isNews, shutdownNodeOf } from './decide/message.ts';
import { shutdownReportOf } from './decide/report.ts';
import { bodyOf, type Format } from './decide/template.ts';
import { boundedSent, MESSAGE_KINDS, type Sent } from './decide/sent.ts';
import { fieldsOf } from './decide/words.ts';
import { readReceiver, send } from './receiver.ts';
import type { SentRecord } from './record.ts';

/** How messages are made and where they go. */
export interface NotifyOptions {
  /** The folder with the files of the Secret. */
  readonly secretFolder: string;
  readonly format: Format;
  /** The name of the cluster in the messages; '' for none. */
  readonly cluster: string;
  readonly blockedAfterMs: number;
}

interface NotifierDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly maintenances: Pick<ObjectCache<NodeMaintenance>, 'get'>;
  readonly nodes: Pick<ObjectCache<Node>, 'get'>;
  readonly record: SentRecord;
}

/** Pauses after attempts that failed. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * 60_000;
/** A maintenance with much to tell gives way to others. */
const MOST_AT_ONCE = MESSAGE_KINDS.length;

/** The attempts in a row that have failed for a maintenance, and until when there is no other one (monotonic, milliseconds). */
interface Failures {
  readonly count: number;
  readonly until: number;
}

/** Tells people of the drains. */
interface Notifier {
  /** Tells what is due of the maintenances of this name: of the one that there is, and of one that had it before. */
  readonly reconcile: Reconcile;
  /** The names of the maintenances for which something is remembered, of this node alone where one is given. */
  remembered(node?: string): readonly string[];
}

class DrainNotifier implements Notifier {
  readonly #options: NotifyOptions;
  readonly #dependencies: NotifierDependencies;
  /** By the UID of the maintenance: when it was first seen that it is over. */
  readonly #endedAt = new Map<string, number>();
  readonly #failures = new Map<string, Failures>();
  readonly #failed: LogOnce;
  readonly #full: LogOnce;

  constructor(options: NotifyOptions, dependencies: NotifierDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { log } = dependencies;
    this.#failed = createLogOnce((reason) => {
      log.warn({ reason }, 'a message cannot be sent, trying again');
    });
    this.#full = createLogOnce((reason) => {
      log.warn({ reason }, 'a drain is not told of');
    });
  }

  remembered(node?: string): readonly string[] {
    const entries = [...this.#dependencies.record.list()];
    return entries.flatMap(([, told]) => (node === undefined || told.node === node ? [told.maintenance] : []));
  }

  readonly reconcile: Reconcile = async (name, signal) => {
    const { record, maintenances } = this.#dependencies;
    const maintenance = maintenances.get(name);
    await this.#begin(maintenance, signal);
    const entries = [...record.list()].filter(([, told]) => told.maintenance === name);
    const waits: number[] = [];
    for (const [uid, told] of entries) {
      await record.save(uid, signal);
      const current = maintenance?.metadata.uid === uid ? maintenance : undefined;
      const againMs = await this.#tellAll(uid, told, current, signal);
      if (againMs !== undefined) waits.push(againMs);
    }
    return waits.length === 0 ? {} : { againMs: Math.min(...waits) };
  };

  /** Begins to remember a drain that is news. */
  async #begin(maintenance: NodeMaintenance | undefined, signal: AbortSignal): Promise<void> {
    const { record, clock } = this.#dependencies;
    const uid = maintenance?.metadata.uid;
    if (maintenance === undefined || uid === undefined || record.get(uid) !== undefined) return;
    const begunAt = isNews(maintenance, clock.now());
    if (begunAt === undefined) return;
    if (!record.hasRoom()) {
      this.#full('more drains are under way than this program remembers');
      return;
    }
    const { metadata, spec, status } = maintenance;
    const node = shutdownNodeOf(maintenance);
    const { nodes = '' } = status?.summary ?? {};
    const known = { maintenance: metadata.name, nodes, reason: spec.reason ?? '', begunAt, kinds: [] };
    await record.set(uid, boundedSent(node === undefined ? known : { ...known, node }), signal);
  }

  /** Tells what is due of one drain; returns after how long it is to be looked at again. */
  async #tellAll(
    uid: string,
    first: Sent,
    maintenance: NodeMaintenance | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { record, clock, nodes } = this.#dependencies;
    let told = first;
    for (let count = 0; count < MOST_AT_ONCE; count += 1) {
      const now = clock.now();
      if (maintenance === undefined || hasEnded(maintenance)) this.#endedAt.set(uid, this.#endedAt.get(uid) ?? now);
      const node = told.node === undefined ? undefined : nodes.get(told.node);
      const decision = decideMessage({
        maintenance,
        told,
        report: node === undefined ? undefined : shutdownReportOf(node),
        now,
        endedAt: this.#endedAt.get(uid),
        blockedAfterMs: this.#options.blockedAfterMs,
      });
      if (decision.kind === 'wait') return decision.againMs;
      if (decision.kind === 'forget') {
        this.#endedAt.delete(uid);
        this.#failures.delete(uid);
        await record.set(uid, undefined, signal);
        return undefined;
      }
      const pauseMs = await this.#send(uid, told, decision.message, signal);
      if (pauseMs !== undefined) return pauseMs;
      told = { ...told, kinds: [...told.kinds, decision.message.kind] };
      await record.set(uid, told, signal);
    }
    return 0;
  }

  /** Sends a message; returns after how long to try again where the receiver has not taken it. */
  async #send(uid: string, told: Sent, message: DrainMessage, signal: AbortSignal): Promise<number | undefined> {
    const { secretFolder, format, cluster } = this.#options;
    const { clock, log } = this.#dependencies;
    const { count, until } = this.#failures.get(uid) ?? { count: 0, until: 0 };
    const leftMs = until - clock.monotonic();
    // A change of the maintenance is no reason to try sooner.
    if (leftMs > 0) return leftMs;
    try {
      const receiver = await readReceiver(secretFolder);
      const fields = fieldsOf(uid, told, message, cluster);
      await send(receiver, { id: fields.id, body: bodyOf(fields, format, receiver.template) }, signal);
      this.#failures.delete(uid);
      this.#failed(undefined);
      log.info({ maintenance: told.maintenance, message: message.kind }, 'told of a drain');
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(count, 20));
      this.#failures.set(uid, { count: count + 1, until: clock.monotonic() + pauseMs });
      this.#failed(describeError(error));
      return pauseMs;
    }
  }
}

/** Creates the notifier of one term of a leader. */
export function createNotifier(options: NotifyOptions, dependencies: NotifierDependencies): Notifier {
  return new DrainNotifier(options, dependencies);
}
