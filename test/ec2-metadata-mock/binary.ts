import { goProgram } from '../support/go-program.ts';

/** The path of the public amazon-ec2-metadata-mock, built once from the Go modules that go.mod pins. */
export async function ec2MetadataMockBinary(signal: AbortSignal): Promise<string> {
  return await goProgram('ec2-metadata-mock', import.meta.dirname, signal);
}
