import path from 'node:path';
import { goProgram } from '../test/support/go-program.ts';

/** The path of the nfpm that .ci/nfpm/go.mod pins, built once. */
export async function nfpmBinary(signal: AbortSignal): Promise<string> {
  return await goProgram('nfpm', path.join(import.meta.dirname, 'nfpm'), signal);
}
