import type { KubeObject } from '../../src/api/meta.ts';
import type { KubeRequest } from '../../src/kube/client.ts';
import type { Fate, Moment, Plan } from './plan.ts';

/** Where a request goes: the resource with its subresource, and the name of the object where the path has one. */
interface Target {
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

const PATH =
  /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/?]+))?(?:\/([a-z]+))?(?:\?.*)?$/;
/** What tells nothing about the drain: it may be lost, and whether it is written depends on times. */
const UNIMPORTANT = new Set(['events', 'subjectaccessreviews', 'selfsubjectaccessreviews']);
/** A Lease is renewed for as long as the program runs; the first writes of it are those that differ. */
const MOST_OF_A_LEASE = 4;
/** A program that has written so often in a row without an end of it fights with somebody, or with itself. */
export const MOST_OF_ONE_WRITE = 25;

function targetOf(path: string): Target {
  const [, resource = path, name = '', subresource = ''] = PATH.exec(path) ?? [];
  return { resource, name: decodeURIComponent(name), subresource };
}

/** Counts what a program writes and sees, over its restarts, and says when the moment of the plan has come. */
export interface Trace {
  /** The moments in their order. */
  readonly moments: readonly Moment[];
  /** How many of the plan's moments have come. */
  reached(): number;
  /** How many calls of the program may have changed something, renewals of its Lease and Events left out, and the last of them. */
  written(): { readonly count: number; readonly last: string };
  /** Notes a call that is about to be made; the fate of it where the plan has one. */
  write(request: KubeRequest): Fate | undefined;
  /** Notes that a write has come to its end. */
  hasWritten(): void;
  /** Notes an event that has come; the fate of it where the plan has one. */
  event(resource: string, object: KubeObject): Fate | undefined;
  /** Resolves after the next write of the program, and after `ms` milliseconds at the latest. Never rejects. */
  nextWrite(ms: number): Promise<void>;
}

/** Whether the request may change something. */
export function isWrite({ method, path }: KubeRequest): boolean {
  return method !== 'GET' && !UNIMPORTANT.has(targetOf(path).resource);
}

/** Starts to count; `plain` takes from the name of an object what differs from run to run. */
export function createTrace(actor: string, plan: Plan | undefined, plain: (name: string) => string): Trace {
  const moments: Moment[] = [];
  const counts = new Map<string, number>();
  let awaited = Promise.withResolvers<undefined>();
  let reached = 0;
  let count = 0;
  let last = '';

  const note = (kind: Moment['kind'], what: string): Fate | undefined => {
    const nth = (counts.get(`${kind} ${what}`) ?? 0) + 1;
    counts.set(`${kind} ${what}`, nth);
    if (what.includes(' leases/') && nth > MOST_OF_A_LEASE) return undefined;
    moments.push({ actor, kind, what, nth });
    const planned = plan?.perturbations.find(
      (each) => each.actor === actor && each.kind === kind && each.what === what && each.nth === nth,
    );
    if (planned !== undefined) reached += 1;
    return planned?.fate;
  };

  return {
    moments,
    reached: () => reached,
    written: () => ({ count, last }),
    write: (request) => {
      const { resource, name, subresource } = targetOf(request.path);
      const body = request.body as Partial<KubeObject> | undefined;
      const key = plain(name === '' ? (body?.metadata?.name ?? '') : name);
      const what = [`${request.method} ${resource}`, key, subresource].filter((part) => part !== '').join('/');
      if (resource !== 'leases') {
        count += 1;
        last = what;
      }
      return note('write', what);
    },
    hasWritten: () => {
      awaited.resolve(undefined);
      awaited = Promise.withResolvers();
    },
    event: (resource, { metadata }) => note('event', `${resource}/${plain(metadata.name)}`),
    nextWrite: async (ms) => {
      const late = Promise.withResolvers<undefined>();
      const timer = setTimeout(late.resolve, ms, undefined);
      await Promise.race([awaited.promise, late.promise]);
      clearTimeout(timer);
    },
  };
}

/** The write that a program has repeated too often, if it has. */
export function repeatedWrite({ moments }: Trace): Moment | undefined {
  return moments.find(
    ({ kind, nth, what }) => kind === 'write' && nth > MOST_OF_ONE_WRITE && !what.includes(' leases/'),
  );
}
