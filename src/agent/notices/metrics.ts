import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { NoticeObserver } from '../../telemetry/metrics.ts';

/** What the agent counts, where somebody wants to read it. */
export interface AgentMetrics {
  /** Absent where nobody does. */
  readonly notices?: NoticeObserver;
  /** Serves them until the signal is aborted; never rejects: an agent that cannot be measured still does its work. */
  serve(isReady: () => boolean, signal: AbortSignal): Promise<void>;
}

/** Makes the metrics that are served at ADDRESS:PORT; without an address not even what counts them is loaded. */
export async function openAgentMetrics(address: string | undefined, log: Log): Promise<AgentMetrics> {
  if (address === undefined) return { serve: () => Promise.resolve() };
  const { createNoticeMetrics } = await import('../../telemetry/metrics.ts');
  const { serveHttp } = await import('../../telemetry/http.ts');
  const notices = createNoticeMetrics();
  return {
    notices,
    serve: async (isReady, signal) => {
      try {
        await serveHttp(address, { metrics: notices, isReady, log }, signal);
      } catch (error) {
        log.error({ reason: describeError(error) }, 'metrics are not served');
      }
    },
  };
}
