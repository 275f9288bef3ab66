import type { IncomingMessage } from 'node:http';

/** What of a call is read: all of it, or nothing, and then this is the answer. */
type ReadBody = { readonly text: string } | { readonly status: 411 | 413 | 503; readonly why: string };

/** Of most reviews; the calls of so many bytes at once are bounded by the connections. */
const MAX_USUAL_BYTES = 256 * 1024;
/**
 * Of any review: the object and the old object, of 1.5 MiB each, which is what etcd takes, and who asks. A smaller limit would
 * be a way around the webhook, for its failurePolicy is Ignore; see docs/reference/webhook.md.
 */
const MAX_BYTES = 3.25 * 1024 * 1024;
/** Of the large ones so many are read at once. */
const MAX_LARGE = 4;

/** Reads the bodies of calls, which any client may send, in bounded memory. API servers send the length of theirs. */
export function createBodyReader(): (request: IncomingMessage) => Promise<ReadBody> {
  let large = 0;

  const readAll = async (request: IncomingMessage): Promise<ReadBody> => {
    const chunks: Buffer[] = [];
    // By default a stream that is left early is destroyed, and with it the connection and the answer. It is no
    // longer than its header says.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) chunks.push(chunk);
    return { text: Buffer.concat(chunks).toString('utf8') };
  };

  return async (request) => {
    const length = request.headers['content-length'];
    if (length === undefined) return { status: 411, why: 'Content-Length is missing' };
    const bytes = Number(length);
    if (bytes > MAX_BYTES) return { status: 413, why: `at most ${MAX_BYTES} bytes` };
    if (bytes <= MAX_USUAL_BYTES) return await readAll(request);
    if (large >= MAX_LARGE) return { status: 503, why: `at most ${MAX_LARGE} bodies of such a size at once` };
    large += 1;
    try {
      return await readAll(request);
    } finally {
      large -= 1;
    }
  };
}
