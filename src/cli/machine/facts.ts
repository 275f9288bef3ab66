import { readMachineFacts } from '../../host/firmware.ts';

/** `nodemaint machine-facts`: what the firmware reports of this machine, as JSON for the agent. */
export async function machineFactsCommand(): Promise<string> {
  return `${JSON.stringify(await readMachineFacts())}\n`;
}
