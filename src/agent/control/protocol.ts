import path from 'node:path';
import * as z from 'zod';
import type { ControlClient } from '../../decide/shutdown/phase.ts';

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
