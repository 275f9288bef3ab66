import { request } from 'node:http';
import { request as requestByTls } from 'node:https';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { isOwnAddress } from '../own-addresses.ts';

const TIMEOUT_MS = 2_000;
const DEFAULT_URL = 'http://127.0.0.1:10248/healthz';
const EVERYWHERE: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** The health endpoint of a kubelet: a URL on this machine, or none (healthzPort 0), or an address of another machine. */
type HealthEndpoint = { readonly kind: 'url'; readonly url: string } | { readonly kind: 'nowhere' | 'elsewhere' };

/** The health endpoint of a kubelet. Only addresses of this machine are used, because a kubelet listens on no others. */
export async function healthEndpointOf(
  kubelet: Pick<KubeletFacts, 'healthzPort' | 'healthzBindAddress'>,
  signal: AbortSignal,
): Promise<HealthEndpoint> {
  if (kubelet.healthzPort === 0) return { kind: 'nowhere' };
  const host = EVERYWHERE.get(kubelet.healthzBindAddress) ?? kubelet.healthzBindAddress;
  if (!(await isOwnAddress(host, signal))) return { kind: 'elsewhere' };
  return { kind: 'url', url: `http://${host.includes(':') ? `[${host}]` : host}:${kubelet.healthzPort}/healthz` };
}

/**
 * Whether the kubelet is up: its /healthz, which needs no credentials, answers 200 within 2 s. `configured` is the URL from the
 * configuration; "" means that the kubelet is assumed to be up. A running kubelet without a health endpoint counts as up too.
 * `find` finds the running kubelet.
 */
export async function isKubeletUp(
  configured: string | undefined,
  find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>,
  signal: AbortSignal,
): Promise<boolean> {
  if (configured === '') return true;
  if (configured !== undefined) return await answersOk(configured, signal);
  // Problems with its files are reported elsewhere; here the default endpoint is tried.
  const kubelet = await find(signal).catch(() => undefined);
  signal.throwIfAborted();
  const endpoint: HealthEndpoint =
    kubelet === undefined ? { kind: 'url', url: DEFAULT_URL } : await healthEndpointOf(kubelet, signal);
  if (endpoint.kind === 'url') return await answersOk(endpoint.url, signal);
  return endpoint.kind === 'nowhere';
}

/** Whether the URL answers 200 within 2 s to somebody without credentials; as for a kubelet's probe, its certificate may be anybody's. */
export async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  return await new Promise((resolve) => {
    const options = { signal: limit, agent: false, rejectUnauthorized: false };
    const asked = (url.startsWith('https:') ? requestByTls : request)(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => {
      resolve(false);
    });
    asked.end();
  });
}
