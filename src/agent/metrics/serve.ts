import type { AgentStatus } from '../control/status.ts';
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NoticeObserver } from '../../telemetry/notice-metrics.ts';

/** What is read when somebody asks for the metrics. */
interface MetricsSource {
  readonly isReady: () => boolean;
  readonly status: () => AgentStatus;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What the agent counts, where somebody wants to read it. */
export interface AgentMetrics {
  /** Absent where nobody does. */
  readonly notices?: NoticeObserver;
  /** Counts what was announced by an Event with this reason. */
  announced(reason: string): void;
  /** Serves them until the signal is aborted; never rejects: an agent that cannot be measured still does its work. */
  serve(source: MetricsSource, signal: AbortSignal): Promise<void>;
}

/** Makes the metrics that are served at ADDRESS:PORT; without an address not even what counts them is loaded. */
export async function openAgentMetrics(address: string | undefined, log: Log): Promise<AgentMetrics> {
  if (address === undefined) return { announced: () => undefined, serve: () => Promise.resolve() };
  const { createAgentMetrics } = await import('../../telemetry/agent-metrics.ts');
  const { serveHttp } = await import('../../telemetry/http-server.ts');
  const registry = createAgentMetrics();
  const { notices, gauges, contentType } = registry;
  return {
    notices,
    announced: (reason) => {
      gauges.announced(reason);
    },
    serve: async ({ isReady, status, now }, signal) => {
      const read = (): Promise<string> => {
        gauges.show(status(), now());
        return registry.text();
      };
      try {
        const notReady = (): string | undefined => (isReady() ? undefined : 'not synchronized yet');
        await serveHttp(address, { metrics: { text: read, contentType }, notReady, log }, signal);
      } catch (error) {
        log.error({ reason: describeError(error) }, 'metrics are not served');
      }
    },
  };
}
