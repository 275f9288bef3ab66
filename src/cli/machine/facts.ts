import { chassis, system } from 'systeminformation';
import type { MachineFacts } from '../../decide/notice/provider.ts';

/** Reads the firmware's description of this machine (SMBIOS). A value is empty if it is missing or not readable for this user. */
async function readMachineFacts(): Promise<MachineFacts> {
  const [machine, { assetTag }] = await Promise.all([system(), chassis()]);
  const { manufacturer, model, serial, uuid } = machine;
  return { manufacturer, model, serial, uuid, assetTag };
}

/** `nodemaint machine-facts`: what the firmware reports of this machine, as JSON for the agent. */
export async function machineFactsCommand(): Promise<string> {
  return `${JSON.stringify(await readMachineFacts())}\n`;
}
