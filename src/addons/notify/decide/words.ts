/** The words of a message: what the receiver gets. */
import type { BlockingPod } from '../../../api/node-maintenance.ts';
import { rfc3339 } from '../../../decide/time.ts';
import { printable, shortened } from '../../../printable.ts';
import type { DrainMessage, DrainOutcome } from './message.ts';
import type { Sent } from './sent.ts';

/** What a receiver may want to know of a message; each field is a word that a template may have. */
export interface MessageFields {
  /** The same each time the message is sent, so that a receiver can recognise one that it has. */
  readonly id: string;
  readonly kind: string;
  readonly outcome: string;
  readonly cluster: string;
  readonly maintenance: string;
  readonly nodes: string;
  readonly reason: string;
  /** When the drain began, RFC 3339. */
  readonly begunAt: string;
  /** The pods that block; only of `blocked`. */
  readonly blocking: string;
  /** One sentence for people. */
  readonly text: string;
}

/** The names of all fields. */
export const FIELD_NAMES = [
  'id',
  'kind',
  'outcome',
  'cluster',
  'maintenance',
  'nodes',
  'reason',
  'begunAt',
  'blocking',
  'text',
] as const satisfies readonly (keyof MessageFields)[];

const MOST_PODS = 5;
const MAX_MESSAGE = 200;

const ENDS: Readonly<Record<Exclude<DrainOutcome, 'draining'>, string>> = {
  drained: 'is drained: all pods have left',
  ended: 'is no longer drained: the maintenance was ended with pods left',
  canceled: 'stays up: the shutdown was called off',
  forced: 'went down, or was let go, with pods left',
  undrained: 'went down before its pods had ended',
  unknown: 'was to go down and has not said how its shutdown ended; pods may have been left',
};

function blockingText(pods: readonly BlockingPod[]): string {
  const first = pods.slice(0, MOST_PODS).map(({ namespace, name, reason, message }) => {
    return `${namespace}/${name} (${reason}: ${shortened(message, MAX_MESSAGE)})`;
  });
  const more = pods.length - first.length;
  return [...first, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function sentence({ kind, outcome }: DrainMessage, nodes: string, told: Sent, blocking: string): string {
  const of = `(maintenance ${told.maintenance}${told.reason === '' ? '' : `, ${told.reason}`})`;
  if (kind === 'begun') return `The drain of ${nodes} has begun ${of}.`;
  if (kind === 'blocked') return `The drain of ${nodes} is blocked ${of}: ${blocking}.`;
  return `${nodes} ${ENDS[outcome === 'draining' ? 'ended' : outcome]} ${of}.`;
}

/** The fields of a message. */
export function fieldsOf(uid: string, told: Sent, message: DrainMessage, cluster: string): MessageFields {
  const blocking = printable(blockingText(message.blocking));
  const nodes = told.nodes === '' ? 'none' : told.nodes;
  const where = cluster === '' ? '' : `${cluster}: `;
  return {
    id: `${uid}/${message.kind}`,
    kind: message.kind,
    outcome: message.outcome,
    cluster,
    maintenance: told.maintenance,
    nodes,
    reason: told.reason,
    begunAt: rfc3339(told.begunAt),
    blocking,
    text: `${where}${sentence(message, `node ${nodes}`, told, blocking)}`,
  };
}
