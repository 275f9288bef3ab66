/** Watches: the changes after a revision, as events. */
import type { KubeObject } from '../../../src/api/meta.ts';
import { KIND_RULES, placeOf } from './kinds.ts';
import type { Objects } from './objects.ts';
import { selectionOf } from './selection.ts';

/** An event as the API server sends it. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject & { readonly code?: number };
}

/** A watch that is open. */
export interface Watching {
  /** The next event that there is, and when its change was; undefined while there is none. */
  next(): { readonly event: WatchEvent; readonly at: number } | undefined;
  /** The event that says how far the watch is, although nothing of its objects has changed. */
  bookmark(): WatchEvent;
}

function errorEvent(code: number, message: string): WatchEvent {
  return { type: 'ERROR', object: { code, message, metadata: { name: '' } } as WatchEvent['object'] };
}

/** Opens a watch; `oldest` is the first revision of which the changes after it are still known. */
export function openWatch(objects: Objects, path: string, oldest: number): Watching {
  const [name = '', search] = path.split('?');
  const query = new URLSearchParams(search);
  const place = placeOf(name);
  const since = Number(query.get('resourceVersion'));
  let failure: WatchEvent | undefined;
  if (place === undefined) failure = errorEvent(404, 'the server could not find the requested resource');
  else if (since < oldest) failure = errorEvent(410, 'too old resource version');
  const selects = selectionOf(place ?? { kind: 'Pod' }, query);
  let at = objects.changes.findIndex(({ revision }) => revision > since);
  if (at < 0) at = objects.changes.length;
  return {
    next: () => {
      const failed = failure;
      failure = undefined;
      // Nothing comes after that.
      if (failed !== undefined) at = Infinity;
      if (failed !== undefined) return { event: failed, at: 0 };
      while (at < objects.changes.length) {
        const change = objects.changes[at];
        at += 1;
        if (change === undefined || change.kind !== place?.kind) continue;
        const { before, object, deleted } = change;
        const [was, is] = [before !== undefined && selects(before), !deleted && selects(object)];
        if (was || is)
          return { event: { type: is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED', object: object }, at: change.at };
      }
      return undefined;
    },
    bookmark: () => {
      const kind = place?.kind ?? 'Pod';
      const revision = objects.changes[at - 1]?.revision ?? since;
      const metadata = { name: '', resourceVersion: String(Math.max(since, revision)) };
      return { type: 'BOOKMARK', object: { kind, apiVersion: KIND_RULES[kind].resource.root, metadata } };
    },
  };
}
