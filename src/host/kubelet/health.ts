import { request } from 'node:http';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { isOwnAddress } from '../own-addresses.ts';

const TIMEOUT_MS = 2_000;
const DEFAULT_URL = 'http://127.0.0.1:10248/healthz';
const EVERYWHERE: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Where a kubelet says whether it is well: at a URL of this machine, nowhere (healthzPort 0), or on another machine. */
export type HealthPlace = { readonly kind: 'url'; readonly url: string } | { readonly kind: 'nowhere' | 'elsewhere' };

/** The place of a kubelet's /healthz. No address but this machine's own is ever asked: a kubelet listens on no other. */
export function healthPlaceOf(kubelet: Pick<KubeletFacts, 'healthzPort' | 'healthzBindAddress'>): HealthPlace {
  if (kubelet.healthzPort === 0) return { kind: 'nowhere' };
  const host = EVERYWHERE.get(kubelet.healthzBindAddress) ?? kubelet.healthzBindAddress;
  if (!isOwnAddress(host)) return { kind: 'elsewhere' };
  return { kind: 'url', url: `http://${host.includes(':') ? `[${host}]` : host}:${kubelet.healthzPort}/healthz` };
}

/**
 * Whether the kubelet is up: its /healthz, which asks for no credentials, says so within 2 s. `configured` is the URL of
 * the configuration; "" takes it for up, as one does that serves no /healthz and runs. `find` looks for the running kubelet.
 */
export async function isKubeletUp(
  configured: string | undefined,
  find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>,
  signal: AbortSignal,
): Promise<boolean> {
  if (configured === '') return true;
  if (configured !== undefined) return await answersOk(configured, signal);
  // What is wrong with its files is said elsewhere; here the usual place is tried.
  const kubelet = await find(signal).catch(() => undefined);
  signal.throwIfAborted();
  const place = kubelet === undefined ? ({ kind: 'url', url: DEFAULT_URL } as const) : healthPlaceOf(kubelet);
  if (place.kind === 'url') return await answersOk(place.url, signal);
  return place.kind === 'nowhere';
}

async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  return await new Promise((resolve) => {
    const asked = request(url, { signal: limit, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => {
      resolve(false);
    });
    asked.end();
  });
}
