import { AGENT_STATUS_ANNOTATION } from '../../../api/names.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { isObject, parseObject } from '../../../decide/json.ts';
import { timeOf } from '../../../decide/time.ts';

const MAX_TEXT = 4_096;
const RESULTS = ['drained', 'forced', 'undrained', 'canceled'] as const;

/** How the last shutdown of a node ended, as its agent says on the Node, and when, in milliseconds since the epoch. */
export interface ShutdownReport {
  readonly result: (typeof RESULTS)[number];
  readonly at: number;
}

/** Reads what the agent of the node says of its last shutdown; undefined where it says nothing that can be read. */
export function shutdownReportOf({ metadata }: Pick<KubeObject, 'metadata'>): ShutdownReport | undefined {
  const last = parseObject(metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '', MAX_TEXT)?.['last'];
  if (!isObject(last)) return undefined;
  const result = RESULTS.find((each) => each === last['result']);
  const at = typeof last['at'] === 'string' ? timeOf(last['at']) : undefined;
  return result === undefined || at === undefined ? undefined : { result, at };
}
