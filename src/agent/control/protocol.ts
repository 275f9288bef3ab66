import path from 'node:path';
import * as z from 'zod';

/** Made for each request: an idle agent gets none. */
function makeRequestSchema() {
  return z.discriminatedUnion('verb', [
    z.strictObject({ verb: z.literal('status') }),
    z.strictObject({
      verb: z.literal('trigger'),
      reason: z.string().min(1).max(1024),
      /** From when the agent reads it. */
      deadlineMs: z
        .int()
        .min(1)
        .max(30 * 86_400_000)
        .exactOptional(),
    }),
    z.strictObject({ verb: z.literal('cancel') }),
    z.strictObject({ verb: z.literal('release'), reason: z.string().min(1).max(1024) }),
    z.strictObject({
      verb: z.enum(['park', 'restore']),
      file: z.string().regex(/^[^./\0][^/\0]{0,254}$/, 'no file name'),
    }),
  ]);
}

/** What a local client may ask of the agent: one JSON line, answered by one JSON line. */
export type ControlRequest = z.infer<ReturnType<typeof makeRequestSchema>>;

/** The client of a control socket: root, or a member of the control group. */
export type ControlClient = 'root' | 'group';

/** Commands of the control group. Only root may end the hold on a shutdown or move manifests, which include those of etcd. */
const GROUP_VERBS: readonly ControlRequest['verb'][] = ['status', 'trigger', 'cancel'];

/** The socket of each kind of client. The permissions of the two sockets decide which one a process can open. */
export function controlSocketPath(runDirectory: string, client: ControlClient = 'root'): string {
  return path.join(runDirectory, client === 'root' ? 'control.sock' : 'group.sock');
}

/** Parses one line; returns a sentence in place of a request that is invalid, or that this client may not send. */
export function parseRequest(line: string, client: ControlClient): ControlRequest | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'not a request: no JSON';
  }
  const parsed = makeRequestSchema().safeParse(value);
  if (!parsed.success) return `not a request: ${z.prettifyError(parsed.error)}`;
  const { data } = parsed;
  if (client === 'root' || GROUP_VERBS.includes(data.verb)) return data;
  return `only root may ask for "${data.verb}"; the control group may ask for ${GROUP_VERBS.join(', ')}`;
}

/** The largest pid that Linux has (PID_MAX_LIMIT of linux/threads.h). */
const MAX_PID = 4_194_304;

function makeAskerSchema() {
  return z.strictObject({ asker: z.strictObject({ pid: z.int().min(1).max(MAX_PID) }) });
}

/**
 * The line after the request: which process asks. Agents before 0.2 do not read it. Node.js cannot ask the kernel who is at the
 * other end of a socket, so this is what the client says of itself.
 */
export function askerLine(pid: number): string {
  return JSON.stringify({ asker: { pid } } satisfies z.infer<ReturnType<typeof makeAskerSchema>>);
}

/** The pid of such a line; undefined where it is none, as of an older client. */
export function parseAsker(line: string): number | undefined {
  try {
    return makeAskerSchema().safeParse(JSON.parse(line)).data?.asker.pid;
  } catch {
    return undefined;
  }
}
