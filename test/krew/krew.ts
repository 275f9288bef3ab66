import { goProgram } from '../support/go-program.ts';

/** The path of the krew that go.mod pins (https://krew.sigs.k8s.io), built once. */
export async function krewBinary(signal: AbortSignal): Promise<string> {
  return await goProgram('krew', import.meta.dirname, signal);
}
