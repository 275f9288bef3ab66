import { Counter, Gauge, Registry } from 'prom-client';
import type { LastShutdown } from '../decide/presence/last-shutdown.ts';
import type { MetricsText } from './http-server.ts';
import { setCounts } from './labelled-counts.ts';
import { createNoticeMetrics, type NoticeObserver } from './notice-metrics.ts';
import { registerBuildInfo, registerProcess } from './process-metrics.ts';

/** What the metrics of an agent are read from, each time that they are asked for: of its status. Times are milliseconds since the epoch. */
interface AgentFigures {
  /** `since` is when a shutdown began to be held. */
  readonly phase: { readonly kind: string; readonly since?: number };
  /** Its kind is "none" where the agent is configured to hold none; `delay` is absent where logind was not asked. */
  readonly lock: { readonly kind: string; readonly held: boolean; readonly delay?: { readonly limitMs: number } };
  /** `heardAt` is when the API server answered last; absent where it has not. */
  readonly cluster: { readonly configured: boolean; readonly heardAt?: number };
  /** What the agent waits for, with who is to act: an interceptor, the kubelet or the controller. */
  readonly waitingFor: readonly { readonly on: string }[];
  readonly inPlace: readonly string[];
  readonly parked: readonly string[];
  readonly lastShutdown?: LastShutdown;
  readonly storageProblem?: string;
  readonly warnings: readonly string[];
}

/** The metrics of an agent, beside those of notices. */
interface AgentGauges {
  /** Sets the gauges. */
  show(figures: AgentFigures, now: number): void;
  /** Counts what was announced by an Event with this reason, if it is a step of a shutdown. */
  announced(reason: string): void;
}

const PHASES = ['watching', 'draining', 'released', 'recovering'];
/** The steps of a shutdown by the reason of their Event. */
const STEPS: ReadonlyMap<string, string> = new Map([
  ['ShutdownHeld', 'held'],
  ['ShutdownReleased', 'drained'],
  ['ShutdownForced', 'forced'],
  ['ShutdownCanceled', 'canceled'],
  ['ShutdownOver', 'over'],
  // The agent that counts a forced shutdown goes down at once, mostly before it is scraped: it is counted again after the boot.
  ['BackAfterForced', 'forced'],
  ['WentDownUndrained', 'undrained'],
  ['WentDownUnasked', 'unasked'],
]);

/** A figure that does not apply is absent: a 0 would be one that alerts act on. */
function setOrRemove(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}

/** Registers the metrics of the agent. No label has values that others choose, but that of `nodemaint_waiting`, which has at most 100. */
function createAgentGauges(registry: Registry): AgentGauges {
  registerBuildInfo(registry);
  registerProcess(registry);
  const gauge = (name: string, help: string, labelNames: readonly string[] = []): Gauge =>
    new Gauge({ name: `nodemaint_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  const phases = gauge('phase', 'The phase of the agent: 1 for the present one, else 0.', ['phase']);
  const held = gauge('shutdown_lock_held', 'Whether the shutdown lock is held: 1, or 0.');
  const limit = gauge('shutdown_lock_limit_seconds', 'For how long logind lets a lock delay a shutdown.');
  const heldFor = gauge('shutdown_held_seconds', 'For how long the present shutdown has been held; 0 without one.');
  const last = gauge(
    'last_shutdown_timestamp_seconds',
    'When the last shutdown ended, by its result: drained, forced, undrained, canceled.',
    ['result'],
  );
  const waiting = gauge('waiting', 'What the agent waits for, by who is to act.', ['actor']);
  const inPlace = gauge('static_pods_in_place', 'Static pods whose manifests are in place.');
  const parked = gauge('static_pods_parked', 'Static pods whose manifests are parked.');
  const heard = gauge('api_server_last_answer_timestamp_seconds', 'When the API server answered last; 0 for never.');
  const storage = gauge('storage_problem', 'Whether the state of the agent cannot be written to the disk: 1, or 0.');
  const warnings = gauge('setup_warnings', 'What the agent finds wrong with the set-up of its node.');
  const steps = new Counter({
    name: 'nodemaint_shutdown_steps_total',
    help: 'Shutdowns by step: held, drained, forced, canceled, over, undrained, unasked.',
    labelNames: ['step'],
    registers: [registry],
  });
  for (const step of STEPS.values()) steps.inc({ step }, 0);
  return {
    announced: (reason) => {
      const step = STEPS.get(reason);
      if (step !== undefined) steps.inc({ step });
    },
    show: ({ phase: { kind, since }, lock, cluster, waitingFor, lastShutdown, ...figures }, now) => {
      for (const phase of PHASES) phases.set({ phase }, phase === kind ? 1 : 0);
      setOrRemove(held, lock.kind === 'none' ? undefined : Number(lock.held));
      setOrRemove(limit, lock.delay && lock.delay.limitMs / 1000);
      heldFor.set(kind === 'draining' && since !== undefined ? Math.max(0, (now - since) / 1000) : 0);
      last.reset();
      if (lastShutdown !== undefined) last.set({ result: lastShutdown.result }, lastShutdown.at / 1000);
      const byActor = [...Map.groupBy(waitingFor, ({ on }) => on)];
      setCounts(waiting, 'actor', new Map(byActor.map(([actor, all]) => [actor, all.length])));
      inPlace.set(figures.inPlace.length);
      parked.set(figures.parked.length);
      setOrRemove(heard, cluster.configured ? (cluster.heardAt ?? 0) / 1000 : undefined);
      storage.set(figures.storageProblem === undefined ? 0 : 1);
      warnings.set(figures.warnings.length);
    },
  };
}

/** The metrics of an agent. */
interface AgentRegistry extends MetricsText {
  readonly notices: NoticeObserver;
  readonly gauges: AgentGauges;
}

/** Creates the metrics of an agent. */
export function createAgentMetrics(): AgentRegistry {
  const registry = new Registry();
  return {
    notices: createNoticeMetrics(registry),
    gauges: createAgentGauges(registry),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
