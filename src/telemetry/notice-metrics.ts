import { Counter, Gauge, Registry } from 'prom-client';
import type { Notice } from '../decide/notices.ts';
import type { MetricsText } from './http.ts';

/** Hears what the sources of notices say. */
export interface NoticeObserver {
  /** A notice that was not there before. */
  appeared(notice: Notice): void;
  /** A look at a source that was answered, at a time in milliseconds since the epoch. */
  answered(source: string, now: number): void;
  /** One that failed. */
  failed(source: string): void;
}

/** Makes the metrics of notices; their labels are words of this program, never of a metadata service. */
export function createNoticeMetrics(): NoticeObserver & MetricsText {
  const registry = new Registry();
  const registers = [registry];
  const notices = new Counter({
    name: 'nodemaint_notices_total',
    help: 'Notices of termination and maintenance that appeared.',
    labelNames: ['provider', 'kind'],
    registers,
  });
  const errors = new Counter({
    name: 'nodemaint_notice_source_errors_total',
    help: 'Looks at a source of notices that failed.',
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
      // So that a source without failures shows as one, and not as none.
      errors.inc({ source }, 0);
      success.set({ source }, now / 1000);
    },
    failed: (source) => {
      errors.inc({ source });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
