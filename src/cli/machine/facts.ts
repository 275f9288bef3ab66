import { chassis, system } from 'systeminformation';
import type { MachineFacts } from '../../decide/notice/provider.ts';

/**
 * `nodemaint machine-facts`: the firmware's description of this machine (SMBIOS) as JSON for the agent. A value is empty if it is
 * missing or not readable for this user.
 */
export async function machineFactsCommand(): Promise<string> {
  const [{ manufacturer, model, serial, uuid }, { assetTag }] = await Promise.all([system(), chassis()]);
  return `${JSON.stringify({ manufacturer, model, serial, uuid, assetTag } satisfies MachineFacts)}\n`;
}
