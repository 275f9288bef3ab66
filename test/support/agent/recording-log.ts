import type { Log } from '../../../src/telemetry/log.ts';

/** A log that keeps its lines: level, message, and the fields as JSON. */
export interface RecordingLog extends Log {
  readonly lines: string[];
}

/** A log without lines. */
export function createRecordingLog(): RecordingLog {
  const lines: string[] = [];
  const note =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
    };
  return { lines, debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
}
