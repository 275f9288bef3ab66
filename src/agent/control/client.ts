import { createConnection } from 'node:net';
import * as z from 'zod';
import { describeError, NodemaintError } from '../../errors.ts';
import { type ControlRequest, controlSocketPath } from './protocol.ts';
import type { AgentStatus } from './status.ts';

const TIMEOUT_MS = 5_000;
/** The status of a node with a thousand pods is a tenth of it. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

const answerSchema = z.looseObject({ error: z.string().exactOptional() });

async function exchange(socketPath: string, request: ControlRequest): Promise<string> {
  const socket = createConnection(socketPath);
  const timer = setTimeout(() => {
    socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`));
  }, TIMEOUT_MS);
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
    }
    return Buffer.concat(chunks).toString();
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Sends one request to the agent; throws CONTROL_SOCKET_UNAVAILABLE where none answers, USAGE where it refuses. */
export async function askAgent(runDirectory: string, request: ControlRequest): Promise<unknown> {
  const socketPath = controlSocketPath(runDirectory);
  let answer: z.infer<typeof answerSchema>;
  try {
    answer = answerSchema.parse(JSON.parse(await exchange(socketPath, request)));
  } catch (error) {
    throw new NodemaintError(
      'CONTROL_SOCKET_UNAVAILABLE',
      `no agent answers at ${socketPath} (${describeError(error)}); is nodemaint.service running, and are you root?`,
      { cause: error },
    );
  }
  if (answer.error !== undefined) throw new NodemaintError('USAGE', answer.error);
  return answer;
}

/** Asks the agent of this machine for its status; throws as `askAgent` does. */
export async function readStatus(runDirectory: string): Promise<AgentStatus> {
  return (await askAgent(runDirectory, { verb: 'status' })) as AgentStatus;
}
