/** What was told of a drain, as it is written down: one entry for each maintenance, by its UID. */
import { parseObject } from '../../../decide/json.ts';
import { printable, shortened } from '../../../printable.ts';

/** What people are told of a drain. `forced`: the machine went down, or was let go, with pods left. */
export const MESSAGE_KINDS = ['begun', 'blocked', 'forced', 'done'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** What is remembered of a drain until its maintenance is gone and everything is told. */
export interface Sent {
  readonly maintenance: string;
  /** The names of its nodes, for people. */
  readonly nodes: string;
  readonly reason: string;
  /** When the drain began, in milliseconds since the epoch. */
  readonly begunAt: number;
  /** The node whose shutdown it is; absent where it is of somebody else. */
  readonly node?: string;
  readonly kinds: readonly MessageKind[];
}

/** More drains at a time are not told of: all entries have to fit into one object of the API server, which takes 1 MiB. */
export const MAX_ENTRIES = 800;

/** Longer than any entry that this program writes. */
const MAX_ENTRY = 2_048;
const MAX_NAME = 253;
const MAX_NODES = 96;
const MAX_REASON = 64;

/** Whether a message of this kind was told. */
export function wasSent({ kinds }: Sent, kind: MessageKind): boolean {
  return kinds.includes(kind);
}

/** An entry as long as it may be: what is for people is cut. */
export function boundedSent(told: Sent): Sent {
  const text = (words: string, max: number): string => shortened(printable(words), max);
  return { ...told, nodes: text(told.nodes, MAX_NODES), reason: text(told.reason, MAX_REASON) };
}

/** The text of an entry. */
export function sentText(told: Sent): string {
  return JSON.stringify(told);
}

function word(value: unknown, max: number): string | undefined {
  return typeof value === 'string' && Array.from(value).length <= max ? value : undefined;
}

/** Reads an entry; undefined for a text that this program does not write. */
export function readSent(text: string): Sent | undefined {
  const value = parseObject(text, MAX_ENTRY);
  if (value === undefined) return undefined;
  const maintenance = word(value['maintenance'], MAX_NAME);
  const nodes = word(value['nodes'], MAX_NODES);
  const reason = word(value['reason'], MAX_REASON);
  const node = word(value['node'], MAX_NAME);
  const { begunAt, kinds } = value;
  if (maintenance === undefined || nodes === undefined || reason === undefined) return undefined;
  if (typeof begunAt !== 'number' || !Array.isArray(kinds)) return undefined;
  const known = MESSAGE_KINDS.filter((kind) => kinds.includes(kind));
  return { maintenance, nodes, reason, begunAt, kinds: known, ...(node === undefined ? {} : { node }) };
}
