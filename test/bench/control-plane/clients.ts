/** What users of the API see while a member of the control plane leaves: a writer, a reader and a watcher, all through the balancer. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import type { KeyPair } from '../../control-plane/certificates.ts';

const WRITE_EVERY_MS = 50;
const READ_EVERY_MS = 100;
const WRITE_MS = 5_000;
const READ_MS = 1_000;
/** What a client in Go does with a connection on which nothing comes: it asks after 30 s, and ends it 15 s later. */
const SILENT_MS = 45_000;
const OBJECT = '/api/v1/namespaces/default/configmaps';
/** Writes of one object at once hinder each other: a slow one would make all that follow slow. */
const OBJECTS = 200;

/** What was seen since the figures were taken last; times in milliseconds. */
export interface Seen {
  /** The longest time from the first of failed readings of /readyz in a row to the next answer; the same of an object. */
  longestFailure: number;
  failedReads: number;
  longestGetFailure: number;
  failedGets: number;
  /** The longest time in which no try of a reading or a write succeeded. */
  longestSilence: number;
  /** Writes whose first try failed; those that failed again at another member; the longest time of one. */
  triedAgain: number;
  failedWrites: number;
  slowestWrite: number;
  /** The longest time without an event of the writes. */
  longestGap: number;
  /** Why tries failed, with their numbers. */
  readonly reasons: Map<string, number>;
}

function nothingSeen(): Seen {
  return {
    longestFailure: 0,
    failedReads: 0,
    longestGetFailure: 0,
    failedGets: 0,
    longestSilence: 0,
    triedAgain: 0,
    failedWrites: 0,
    slowestWrite: 0,
    longestGap: 0,
    reasons: new Map(),
  };
}

/** Where the balancer is, and who asks. */
export interface Access {
  readonly host: string;
  readonly port: number;
  readonly caFile: string;
  readonly client: KeyPair;
}

async function optionsOf({ host, port, caFile, client }: Access): Promise<RequestOptions> {
  const [ca, cert, key] = await Promise.all([readFile(caFile), readFile(client.cert), readFile(client.key)]);
  return { host, port, ca, cert, key, agent: false };
}

/** One call over a connection of its own; rejects for every answer but 2xx. */
async function ask(options: RequestOptions, body?: object): Promise<string> {
  return await new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-type': `application/${options.method === 'PATCH' ? 'merge-patch+' : ''}json` };
    const sent = request({ ...options, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (part: string) => (answer += part));
      response.on('end', () =>
        (response.statusCode ?? 0) < 300 ? resolve(answer) : reject(new Error(`HTTP ${response.statusCode}`)),
      );
      response.on('error', reject);
    });
    const timer = setTimeout(() => sent.destroy(new Error('time-out')), options.timeout ?? WRITE_MS);
    sent.on('error', reject);
    sent.on('close', () => clearTimeout(timer));
    sent.end(text);
  });
}

/** The users of a cluster, at work until they are disposed of. */
export interface Clients extends Disposable {
  /** What they have seen since the last call. */
  take(): Seen;
}

/** Begins to write, to read and to watch. */
export async function startClients(access: Access): Promise<Clients> {
  const options = await optionsOf(access);
  const name = `written-${process.pid}`;
  for (let index = 0; index < OBJECTS; index += 1) {
    const object = { metadata: { name: `${name}-${index}`, labels: { [name]: '' } } };
    await ask({ ...options, path: OBJECT, method: 'POST' }, object);
  }
  let seen = nothingSeen();
  let lastAnswer = performance.now();
  const succeed = (): void => {
    const now = performance.now();
    seen.longestSilence = Math.max(seen.longestSilence, now - lastAnswer);
    lastAnswer = now;
  };
  const fail = (what: string, error: unknown): void => {
    const reason = `${what}: ${error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)}`;
    seen.reasons.set(reason, (seen.reasons.get(reason) ?? 0) + 1);
  };
  let count = 0;
  const write = async (): Promise<void> => {
    const begun = performance.now();
    const mine = { data: { count: String((count += 1)) } };
    const patch = { ...options, path: `${OBJECT}/${name}-${count % OBJECTS}`, method: 'PATCH' };
    try {
      await ask(patch, mine).catch(async (error: unknown) => {
        seen.triedAgain += 1;
        fail('write', error);
        await ask(patch, mine);
      });
      succeed();
    } catch (error) {
      seen.failedWrites += 1;
      fail('second write', error);
    }
    seen.slowestWrite = Math.max(seen.slowestWrite, performance.now() - begun);
  };
  const reader = (
    at: string,
    failed: 'failedReads' | 'failedGets',
    longest: 'longestFailure' | 'longestGetFailure',
  ) => {
    let failingSince: number | undefined;
    return async (): Promise<void> => {
      const begun = performance.now();
      try {
        await ask({ ...options, path: at, timeout: READ_MS });
        succeed();
        if (failingSince !== undefined) seen[longest] = Math.max(seen[longest], begun - failingSince);
        failingSince = undefined;
      } catch (error) {
        failingSince ??= begun;
        seen[failed] += 1;
        fail(at, error);
      }
    };
  };
  const read = reader('/readyz', 'failedReads', 'longestFailure');
  const get = reader(`${OBJECT}/${name}-0`, 'failedGets', 'longestGetFailure');
  const stop = new AbortController();
  let lastEvent = performance.now();
  const noteEvents = (text: string): void => {
    if (!text.includes('"MODIFIED"')) return;
    const now = performance.now();
    seen.longestGap = Math.max(seen.longestGap, now - lastEvent);
    lastEvent = now;
  };
  const watch = (): void => {
    if (stop.signal.aborted) return;
    const path = `${OBJECT}?watch=1&labelSelector=${name}`;
    const onAnswer = (response: IncomingMessage): void => {
      response.setEncoding('utf8').on('data', noteEvents);
      response.on('error', () => undefined);
    };
    const call = request({ ...options, path, timeout: SILENT_MS, signal: stop.signal }, onAnswer);
    call.on('timeout', () => call.destroy());
    call.on('error', () => undefined);
    call.on('close', () => void setTimeout(watch, 10));
    call.end();
  };
  watch();
  const every = (ms: number, act: () => Promise<void>): NodeJS.Timeout => setInterval(() => void act(), ms);
  const timers = [every(WRITE_EVERY_MS, write), every(READ_EVERY_MS, read), every(READ_EVERY_MS, get)];
  return {
    take: () => {
      const before = seen;
      before.longestGap = Math.max(before.longestGap, performance.now() - lastEvent);
      seen = nothingSeen();
      return before;
    },
    [Symbol.dispose]: () => {
      stop.abort();
      for (const timer of timers) clearInterval(timer);
    },
  };
}
