import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Whether an IP address belongs to this machine: to the loopback network or to one of its interfaces. */
export function isOwnAddress(address: string): boolean {
  if (address === '::1' || (isIPv4(address) && address.startsWith('127.'))) return true;
  const own = Object.values(networkInterfaces()).flatMap((all) => all?.map((each) => each.address) ?? []);
  return own.includes(address);
}
