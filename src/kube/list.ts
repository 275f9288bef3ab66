import type { KubeObject } from '../api/meta.ts';
import { NodemaintError } from '../errors.ts';
import type { KubeClient } from './client.ts';
import { keyOf } from './resource.ts';
import { sendForObject } from './request.ts';

/** A page of a list, as the API server answers. */
export interface ObjectPage<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[];
}

/**
 * Requests one page; `query` has its limit and where it begins. With `namesOnly` only the metadata of the objects is
 * requested. Undefined where there is no such list. Throws API_ANSWER_TOO_LARGE, and the other errors of the request.
 */
export type AskPage<T> = (
  query: Readonly<Record<string, string>>,
  namesOnly: boolean,
) => Promise<ObjectPage<T> | undefined>;

/** All objects of a list. */
interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Objects that are too large to be read and are missing, as NAMESPACE/NAME or NAME. */
  readonly tooLarge: readonly string[];
}

/** Objects of the first page, unless told: few, so that little is read in vain where each object has the largest size that etcd allows. */
const FIRST_LIMIT = 50;
/** The most objects of a page. */
export const MAX_LIMIT = 500;
const SMALLER = 4;

/** What has no objects and no version is the answer of somebody else, and says nothing of the cluster. */
function assertList({ items, metadata }: ObjectPage<unknown>): void {
  // An empty list may be null.
  const isList = (Array.isArray(items) || items === null) && (metadata?.resourceVersion ?? '') !== '';
  if (!isList)
    throw new NodemaintError('API_UNREACHABLE', 'what answers to a list is no API server: it has no objects');
}

function isTooLarge(error: unknown): boolean {
  return error instanceof NodemaintError && error.code === 'API_ANSWER_TOO_LARGE';
}

/**
 * Reads a whole list in pages that grow as long as they can be read. A page that is too large is requested again with fewer
 * objects. An object that is too large alone is left out, and its name is in `tooLarge`. `trim` is applied to each object
 * as soon as it is read. The first page has at most `firstLimit` objects.
 */
export async function readPages<T extends KubeObject, K = T>(
  ask: AskPage<T>,
  trim: (object: T) => K,
  firstLimit = FIRST_LIMIT,
): Promise<ObjectList<K>> {
  const items: K[] = [];
  const tooLarge: string[] = [];
  let resourceVersion = '';
  let next = '';
  let limit = firstLimit;
  let most = MAX_LIMIT;
  /** Returns where the next page begins; undefined where this one was too large. */
  const readPage = async (namesOnly: boolean): Promise<string | undefined> => {
    const query = { limit: String(limit), ...(next === '' ? {} : { continue: next }) };
    try {
      const page = await ask(query, namesOnly);
      if (page !== undefined) assertList(page);
      for (const item of page?.items ?? []) {
        if (namesOnly) tooLarge.push(keyOf(item));
        else items.push(trim(item));
      }
      resourceVersion = page?.metadata?.resourceVersion ?? '';
      return page?.metadata?.continue ?? '';
    } catch (error) {
      if (namesOnly || !isTooLarge(error)) throw error;
      return undefined;
    }
  };
  let isComplete = false;
  while (!isComplete) {
    const after = (await readPage(false)) ?? (limit === 1 ? await readPage(true) : undefined);
    if (after === undefined) {
      limit = Math.max(1, Math.floor(limit / SMALLER));
      most = limit;
      continue;
    }
    limit = Math.min(limit * 2, most);
    next = after;
    isComplete = next === '';
  }
  return { items, resourceVersion, tooLarge };
}

/** Which list to read, as which user, and how much of it. */
interface ListScope {
  readonly path: string;
  /** Selectors. */
  readonly query?: Readonly<Record<string, string>>;
  /** The user that the requests are made as, by impersonation. */
  readonly as?: string;
  /** Whether only the metadata of the objects is read. */
  readonly namesOnly?: boolean;
  /** The HTTP statuses for which the list is empty, such as 404; none unless they are named. */
  readonly absent?: readonly number[];
}

/** Reads all objects of a list. Throws API_REFUSED and API_UNREACHABLE. */
export async function listAll<T extends KubeObject, K = T>(
  client: KubeClient,
  scope: ListScope,
  trim: (object: T) => K,
  signal: AbortSignal,
): Promise<ObjectList<K>> {
  const { path, query = {}, absent = [], ...options } = scope;
  return await readPages<T, K>((page, namesOnly) => {
    const search = new URLSearchParams({ ...query, ...page }).toString();
    const names = namesOnly ? { namesOnly } : {};
    const request = { method: 'GET', path: `${path}?${search}`, ...options, ...names } as const;
    return sendForObject<ObjectPage<T>>(client, request, absent, signal);
  }, trim);
}
