import { chassis, system } from 'systeminformation';
import type { MachineFacts } from '../decide/notice/provider.ts';

/** What the firmware says of this machine (SMBIOS); empty where it says nothing, or this user may not read it. */
export async function readMachineFacts(): Promise<MachineFacts> {
  const [machine, { assetTag }] = await Promise.all([system(), chassis()]);
  const { manufacturer, model, serial, uuid } = machine;
  return { manufacturer, model, serial, uuid, assetTag };
}
