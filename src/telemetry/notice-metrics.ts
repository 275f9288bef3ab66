import { Counter, Gauge, type Registry } from 'prom-client';
import type { Notice } from '../decide/notice/notices.ts';

/** Observes the sources of notices, for metrics. */
export interface NoticeObserver {
  /** A new notice appeared. */
  appeared(notice: Notice): void;
  /** A source answered at `now`, in milliseconds since the epoch. */
  answered(source: string, now: number): void;
  /** A source did not answer, or its answer was invalid. */
  failed(source: string): void;
}

/** Registers the metrics of notices. Label values are words of this program, never texts of a metadata service. */
export function createNoticeMetrics(registry: Registry): NoticeObserver {
  const registers = [registry];
  const notices = new Counter({
    name: 'nodemaint_notices_total',
    help: 'Notices of termination and maintenance that appeared.',
    labelNames: ['provider', 'kind'],
    registers,
  });
  const errors = new Counter({
    name: 'nodemaint_notice_source_errors_total',
    help: 'Failed reads of a source of notices.',
    labelNames: ['source'],
    registers,
  });
  const success = new Gauge({
    name: 'nodemaint_notice_source_last_success_timestamp_seconds',
    help: 'When a source of notices answered last.',
    labelNames: ['source'],
    registers,
  });
  return {
    appeared: ({ provider, kind }) => {
      notices.inc({ provider, kind });
    },
    answered: (source, now) => {
      // A source without failures is shown with the value 0.
      errors.inc({ source }, 0);
      success.set({ source }, now / 1000);
    },
    failed: (source) => {
      errors.inc({ source });
    },
  };
}
