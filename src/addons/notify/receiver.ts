import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { NodemaintError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { templateProblem } from './decide/template.ts';

/** Where messages go. */
interface Receiver {
  readonly url: URL;
  readonly token?: string;
  /** The certificates that its certificate is verified with, PEM; those of Node.js where it is absent. */
  readonly ca?: string;
  readonly template?: string;
}

const MAX_FILE = 262_144;
/** One attempt to send a message takes no longer. */
const SEND_MS = 10_000;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

function refuse(what: string, cause?: unknown): NodemaintError {
  return new NodemaintError('USAGE', what, { cause });
}

async function readOptional(folder: string, name: string): Promise<string | undefined> {
  try {
    const text = await readFile(path.join(folder, name), 'utf8');
    if (text.length > MAX_FILE) throw refuse(`${path.join(folder, name)} has more than ${MAX_FILE} characters`);
    return text.trim() === '' ? undefined : text.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function urlOf(text: string | undefined, file: string): URL {
  if (text === undefined) throw refuse(`${file} has no address; write the https address of the receiver into it`);
  const url = URL.parse(text);
  // The address itself may be a secret: it is not quoted.
  if (url === null) throw refuse(`${file} is no address; write the https address of the receiver into it`);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (!isSafe) throw refuse(`${file}: the address must begin with https://, or be of this machine`);
  return url;
}

/**
 * Reads the files of the Secret: `url`, and where they are wanted `token`, `ca.crt` and `template`. They are read anew for each
 * message, so that a Secret can be changed. Throws USAGE.
 */
export async function readReceiver(folder: string): Promise<Receiver> {
  const url = urlOf(await readOptional(folder, 'url'), path.join(folder, 'url'));
  const token = await readOptional(folder, 'token');
  const ca = await readOptional(folder, 'ca.crt');
  const template = await readOptional(folder, 'template');
  const problem = template === undefined ? undefined : templateProblem(template);
  if (problem !== undefined) throw refuse(`${path.join(folder, 'template')}: ${problem}`);
  if (token !== undefined && !/^[\x21-\x7e]+$/u.test(token)) throw refuse(`${path.join(folder, 'token')} is no token`);
  return {
    url,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
    ...(template === undefined ? {} : { template }),
  };
}

/** A body for the receiver; the id is the same each time it is sent. */
interface Message {
  readonly id: string;
  readonly body: string;
}

/** Sends a body; resolves where the receiver has taken it (2xx), in at most SEND_MS. Throws MESSAGE_FAILED. A redirect is not followed. */
export async function send(receiver: Receiver, { id, body }: Message, signal: AbortSignal): Promise<void> {
  const { url, token, ca } = receiver;
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': `nodemaint/${VERSION}`,
    'idempotency-key': id,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const within = AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]);
  const status = await new Promise<number>((resolve, reject) => {
    const options = { method: 'POST', headers, signal: within, agent: false as const };
    const request =
      url.protocol === 'http:'
        ? http.request(url, options)
        : // Also where the environment has NODE_TLS_REJECT_UNAUTHORIZED=0.
          https.request(url, { ...options, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) });
    request.on('response', (answer) => {
      // Nothing in the body is of use.
      answer.on('error', () => undefined);
      resolve(answer.statusCode ?? 0);
      request.destroy();
    });
    request.on('error', reject);
    request.end(body);
  }).catch((error: unknown) => {
    // The message of the library may have the address, but not its path, where the secret is.
    const isLate = within.aborted && !signal.aborted;
    const why = isLate
      ? `no answer in ${SEND_MS / 1000} s`
      : `no answer: ${error instanceof Error ? error.message : ''}`;
    throw new NodemaintError('MESSAGE_FAILED', `the receiver of messages gave ${why}`, { cause: error });
  });
  if (status < 200 || status > 299) {
    throw new NodemaintError('MESSAGE_FAILED', `the receiver of messages answered with the status ${status}`);
  }
}
