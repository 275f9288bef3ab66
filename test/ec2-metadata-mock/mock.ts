import path from 'node:path';
import { freePort } from '../control-plane/port.ts';
import { type Program, startProgram } from '../control-plane/process.ts';
import { ec2MetadataMockBinary } from './binary.ts';
import { waitFor } from '../support/wait-for.ts';

/** A running amazon-ec2-metadata-mock on loopback. */
export interface Ec2MetadataMock extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly program: Program;
}

export interface Ec2MetadataMockOptions {
  /** The mode and its flags, such as ['spot', '--action', 'stop']; without a mode it mocks everything. */
  readonly args: readonly string[];
  /** For its log, and its home, so that no configuration of the user's is read. */
  readonly folder: string;
  /** A free one unless told. */
  readonly port?: number;
  /** Values that have no flag in the mode: AEMM_EVENTS_NOT_BEFORE and the like. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the mock; it speaks version 2 of the service only, with session tokens. Throws where it does not answer. */
export async function startEc2MetadataMock(
  { args, folder, port, env = {} }: Ec2MetadataMockOptions,
  signal: AbortSignal,
): Promise<Ec2MetadataMock> {
  const binary = await ec2MetadataMockBinary(signal);
  const own = port ?? (await freePort());
  const url = `http://127.0.0.1:${own}`;
  // A negative count lets every address see the notices, and the mock's handlers write nothing they share.
  const flags = ['--imdsv2', '--hostname=127.0.0.1', `--port=${own}`, '--mock-ip-count=-1'];
  const program = startProgram([binary, ...args, ...flags], path.join(folder, `${own}.log`), { HOME: folder, ...env });
  const answers = async (): Promise<boolean> => {
    // A path that is not there also makes the mock list its paths, which it must not do for two questions at once.
    const response = await fetch(`${url}/ready`, { signal });
    await response.text();
    return response.status === 404;
  };
  try {
    await waitFor('amazon-ec2-metadata-mock answers', answers, { timeoutMs: 10_000, program, signal });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { url, port: own, program, [Symbol.asyncDispose]: () => program.stop() };
}
