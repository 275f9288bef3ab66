/** Who refuses requests of the product in a fleet: policies that come and go, and the webhook of somebody else that cannot be called. */
import type { Node } from '../../../src/api/pod.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';

type Matches = (request: KubeRequest) => boolean;

const isWrite: Matches = ({ method }) => method !== 'GET';
const isOfProduct: Matches = ({ path }) => !path.includes('/leases') && !path.includes('/events');

/** What a policy may refuse, or what a server that is ill answers with an error, by its name in a history. */
export const REFUSALS = {
  'the cordon': ({ method, path, body }) =>
    method !== 'GET' && path.includes('/nodes/') && (body as Partial<Node> | undefined)?.spec?.unschedulable === true,
  'lists of eviction requests': ({ method, path }) => method === 'GET' && path.includes('evictionrequests'),
  'lists of pods': ({ method, path }) => method === 'GET' && path.includes('/pods'),
  'statuses of maintenances': ({ method, path }) =>
    method !== 'GET' && path.includes('/nodemaintenances/') && path.split('?')[0]?.endsWith('/status') === true,
  'new maintenances': ({ method, path }) => method === 'POST' && path.includes('/nodemaintenances'),
  everything: isOfProduct,
} as const satisfies Readonly<Record<string, Matches>>;
export type Refused = keyof typeof REFUSALS;

/** What a webhook of somebody else is asked about, by its name in a fleet. */
export const GUARDED = {
  maintenances: (request) => isWrite(request) && request.path.includes('/nodemaintenances'),
  evictions: (request) => isWrite(request) && request.path.endsWith('/eviction'),
  requests: (request) => isWrite(request) && request.path.includes('/evictionrequests'),
  everything: (request) => isWrite(request) && isOfProduct(request),
} as const satisfies Readonly<Record<string, Matches>>;
export type Guarded = keyof typeof GUARDED;
