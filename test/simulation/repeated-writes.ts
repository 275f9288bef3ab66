/** Stability while a drain is blocked: what one program writes again and again. */
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import { nodeStatusesOf } from '../../src/decide/maintenance/recorded-node.ts';
import type { Write } from '../chaos/audit.ts';
import type { ModelChange } from './api-server/objects.ts';
import { CONTROLLER } from './world.ts';

/** How often one object may be written in half an hour while nothing changes: each three minutes, and a little more. */
const MOST_REPEATED = 12;
/** An interceptor that falls silent and speaks again changes why its pod blocks, and this is written at once. */
const MOST_IN_ALL = 3 * MOST_REPEATED;

/** Which pods of which nodes block, and why; that changes where an interceptor falls silent, or its turn is over. */
function reasonsOf(object: ModelChange['object'] | undefined): string {
  if (object === undefined) return '';
  const nodes = nodeStatusesOf((object as NodeMaintenance).status);
  return JSON.stringify(
    nodes.map(({ podsBlocking = [] }) => podsBlocking.map(({ name, namespace, reason }) => [namespace, name, reason])),
  );
}

/** What these users write too often, of the writes after `since` (ms of the virtual clock); at most one object is named. */
export function repeatedWrites(
  writes: readonly Write[],
  changes: readonly ModelChange[],
  since: number,
  users: readonly string[],
): readonly { readonly what: string; readonly detail: string }[] {
  const counts = new Map<string, number>();
  for (const { at, user, verb, resource, key } of writes) {
    if (at <= since || !users.includes(user) || resource === 'Lease' || resource === 'Event') continue;
    const what = `${user} ${verb} ${resource} ${key}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const [what, count] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  const [user, verb, resource, key] = what.split(' ');
  const ofObject = changes.filter((change) => change.key === key && change.at > since);
  const toldNew = ofObject.filter(({ before, object }) => reasonsOf(before) !== reasonsOf(object)).length;
  if (count - toldNew <= MOST_REPEATED && count <= MOST_IN_ALL) return [];
  const states = ofObject.slice(-2).map(({ object }) => JSON.stringify((object as { status?: object }).status));
  const detail = [`${what} ${count} times in half an hour, the last of them:`, ...states].join('\n    ');
  return [
    {
      what: `the ${user === CONTROLLER ? 'controller' : 'agent'} repeats ${verb} ${resource} while nothing changes`,
      detail,
    },
  ];
}
