/** The clouds whose notices the agent understands. */
export const PROVIDERS = ['aws', 'gcp', 'azure', 'alibaba', 'tencent'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** What the firmware (SMBIOS) says of a machine; empty where it says nothing. */
export interface MachineFacts {
  readonly manufacturer: string;
  readonly model: string;
  readonly serial: string;
  readonly uuid: string;
  readonly assetTag: string;
}

/** The asset tag of every Azure machine; the manufacturer alone is also Hyper-V's. */
const AZURE_ASSET_TAG = '7783-7084-3265-9085-8269-3286-77';

/** EC2's UUID starts with "ec2", also where its first group was written byte by byte in the other order. */
function isEc2Uuid(uuid: string): boolean {
  return /^ec2/i.test(uuid) || /^[0-9a-f]{4}2[0-9a-f]ec-/i.test(uuid);
}

/** The cloud a machine is in, by the rules of cloud-init's ds-identify; undefined for none that is known. */
export function providerOf({ manufacturer, model, serial, uuid, assetTag }: MachineFacts): Provider | undefined {
  if (assetTag === AZURE_ASSET_TAG) return 'azure';
  if (model === 'Google Compute Engine' || serial.startsWith('GoogleCloud-')) return 'gcp';
  if (model === 'Alibaba Cloud ECS') return 'alibaba';
  if (manufacturer === 'Tencent Cloud') return 'tencent';
  // Others serve EC2's metadata too, so a UUID alone counts only with Xen's word for it.
  if (manufacturer === 'Amazon EC2') return 'aws';
  return manufacturer === 'Xen' && isEc2Uuid(uuid) ? 'aws' : undefined;
}
