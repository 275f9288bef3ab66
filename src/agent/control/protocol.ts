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

/** The control socket, which root alone can open. */
export function controlSocketPath(runDirectory: string): string {
  return path.join(runDirectory, 'control.sock');
}

/** Parses one line; returns a sentence in place of a request that is invalid. */
export function parseRequest(line: string): ControlRequest | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'not a request: no JSON';
  }
  const parsed = makeRequestSchema().safeParse(value);
  return parsed.success ? parsed.data : `not a request: ${z.prettifyError(parsed.error)}`;
}
