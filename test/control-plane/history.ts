/** What became of the objects of a cluster, in the order in which etcd wrote it. */

/** An object that was created or deleted; its key is `/registry/KIND/…/NAME`. */
export interface Change {
  readonly what: 'created' | 'deleted';
  readonly key: string;
  readonly revision: number;
}

interface WatchAnswer {
  readonly result: {
    readonly events?: readonly {
      /** PUT is left out. */
      readonly type?: 'DELETE';
      readonly kv: { readonly key: string; readonly create_revision?: string; readonly mod_revision: string };
    }[];
  };
}

/** The keys of the API server: those that begin with "/registry/". */
const RANGE = { key: btoa('/registry/'), range_end: btoa('/registry0') };

async function post(url: string, body: object, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

/** The number of the last write. */
export async function currentRevision(etcdUrl: string, signal: AbortSignal): Promise<number> {
  const answer = await post(`${etcdUrl}/v3/kv/range`, { ...RANGE, count_only: true }, signal);
  return Number(((await answer.json()) as { header: { revision: string } }).header.revision);
}

function changesOf(line: string): readonly (Change | { readonly what: 'changed'; readonly revision: number })[] {
  const { events = [] } = (JSON.parse(line) as WatchAnswer).result;
  return events.map(({ type, kv }) => {
    const [key, revision] = [atob(kv.key), Number(kv.mod_revision)];
    if (type === 'DELETE') return { what: 'deleted', key, revision };
    return kv.create_revision === kv.mod_revision ? { what: 'created', key, revision } : { what: 'changed', revision };
  });
}

/**
 * All objects that were created or deleted after a revision and before this call. It reads on until a later write, which a
 * cluster makes every few seconds: the Leases of its components.
 */
export async function changesSince(etcdUrl: string, revision: number, signal: AbortSignal): Promise<readonly Change[]> {
  const until = await currentRevision(etcdUrl, signal);
  const request = { create_request: { ...RANGE, start_revision: String(revision + 1) } };
  const { body } = await post(`${etcdUrl}/v3/watch`, request, signal);
  const changes: Change[] = [];
  let rest = '';
  for await (const text of (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const change of lines.filter((line) => line !== '').flatMap(changesOf)) {
      if (change.revision > until) return changes;
      if (change.what !== 'changed') changes.push(change);
    }
  }
  throw new Error('etcd ended the watch');
}
