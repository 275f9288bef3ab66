import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP, isIPv4 } from 'node:net';

/**
 * Whether an IP address belongs to this machine: to the loopback network or to one of its interfaces. A socket can be bound to
 * no other address, unless net.ipv4.ip_nonlocal_bind is set. The list of interfaces of node:os is no way to learn it: it needs
 * sockets of the family AF_NETLINK, which the agent's unit does not have.
 */
export async function isOwnAddress(address: string, signal: AbortSignal): Promise<boolean> {
  const version = isIP(address);
  if (version === 0) return false;
  if (address === '::1' || (isIPv4(address) && address.startsWith('127.'))) return true;
  const socket = createSocket(version === 6 ? 'udp6' : 'udp4');
  try {
    const bound = once(socket, 'listening', { signal });
    socket.bind(0, address);
    await bound;
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    socket.close();
  }
}

/** A name server may be silent for a minute, and the loop of the agent must not be. */
const LOOKUP_MS = 2_000;

/**
 * Whether the host of this URL is bound to this machine now, as a virtual address is that moves: a machine that has it asks its own
 * pods. One whose name is not known now, or not told in time, is not.
 */
export async function isBoundHere(server: URL, signal: AbortSignal): Promise<boolean> {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOOKUP_MS)]);
  const silent = once(limit, 'abort').then(() => []);
  const addresses = await Promise.race([lookup(host, { all: true }).catch(() => []), silent]);
  signal.throwIfAborted();
  const own = await Promise.all(addresses.map(({ address }) => isOwnAddress(address, signal)));
  return own.includes(true);
}
