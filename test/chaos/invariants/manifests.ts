import type { KubeObject } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { ManifestMove } from '../machine/machine.ts';
import { mirrorPodObject } from '../objects.ts';
import type { Change } from '../timeline.ts';
import { isCovered, isTargeted } from './coverage.ts';
import { replay } from './replay.ts';
import type { Violation } from './violation.ts';

/** The agent acts on what it has seen last: so much later it has seen it, and the test has seen the move. */
const LAG_MS = 2_500;

/** A time without an end is one that lasts until the end of the record; times in milliseconds since the epoch. */
interface Span {
  readonly from: number;
  to: number;
}

/** When a drain covered the pod, when the status of one had targets for it, and when its node was registered. */
interface Spans {
  readonly covered: Span[];
  readonly targeted: Span[];
  readonly registered: Span[];
}

function extend(spans: Span[], holds: boolean, at: number): void {
  const last = spans.at(-1);
  const isOpen = last?.to === Infinity;
  if (holds && !isOpen) spans.push({ from: at, to: Infinity });
  if (!holds && last !== undefined && isOpen) last.to = at;
}

/** The static pod as its mirror pod shows it; the manifest may be away before the API server has seen the pod. */
function podOf(key: string, nodeName: string): Pod {
  const [namespace = '', name = ''] = key.split('/');
  const mirror = mirrorPodObject(name, namespace, nodeName) as Pod;
  return { ...mirror, spec: { ...mirror.spec, priority: 2_000_001_000 } };
}

function spansOf(changes: readonly Change[], key: string, nodeName: string): Spans {
  const spans: Spans = { covered: [], targeted: [], registered: [] };
  const pod = podOf(key, nodeName);
  replay(changes, ({ change, present }) => {
    const isRegistered = present.nodes.some(({ metadata }: KubeObject) => metadata.name === nodeName);
    extend(spans.registered, isRegistered, change.at);
    extend(spans.covered, isCovered(present, pod), change.at);
    extend(spans.targeted, isTargeted(present, pod), change.at);
  });
  return spans;
}

const touches = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span.from <= to && span.to >= from);
const fills = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span.from <= from && span.to >= to);

/** Checks that manifests are moved away only while a drain covers their pods, and not moved back while one does. */
export function checkManifests(
  changes: readonly Change[],
  moves: readonly ManifestMove[],
  nodeName: string,
): Violation[] {
  const found: Violation[] = [];
  const add = (what: string, { pod, at }: ManifestMove): void => {
    found.push({ invariant: 'manifests', what, detail: `${pod} at ${new Date(at).toISOString()}` });
  };
  const spans = new Map([...new Set(moves.map(({ pod }) => pod))].map((pod) => [pod, spansOf(changes, pod, nodeName)]));
  const last = new Map<string, ManifestMove>();
  for (const move of moves) {
    const { covered, targeted, registered } = spans.get(move.pod) ?? { covered: [], targeted: [], registered: [] };
    const [from, to] = [move.at - LAG_MS, move.at + LAG_MS];
    // Of a node that is not registered no maintenance tells anything.
    const isKnown = fills(registered, from, to);
    if (move.where === 'nowhere') add('a manifest is neither in place nor away', move);
    if (move.where === 'away' && isKnown && !move.forShutdown && !touches(targeted, from, move.at)) {
      add('a manifest is moved away that no drain covers', move);
    }
    const wasAway = last.get(move.pod)?.where === 'away';
    if (move.where === 'in place' && wasAway && isKnown && fills(covered, from, to)) {
      add('a manifest comes back while a drain covers it', move);
    }
    last.set(move.pod, move);
  }
  return found;
}

/** The manifests that are away now although no drain covers them. */
export function checkKeptAway(
  moment: Parameters<typeof isCovered>[0],
  moves: readonly ManifestMove[],
  nodeName: string,
): Violation[] {
  const last = new Map(moves.map((move) => [move.pod, move]));
  return [...last.values()].flatMap(({ pod, where }): Violation[] => {
    if (where === 'in place' || isCovered(moment, podOf(pod, nodeName))) return [];
    const what = 'a manifest stays away that no drain covers';
    return [{ invariant: 'manifests', what, detail: `${pod} on ${nodeName}` }];
  });
}
