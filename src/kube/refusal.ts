import { NodemaintError } from '../errors.ts';
import type { KubeResponse } from './client.ts';
import type { Resource } from './resource.ts';
import { statusMessage } from './request.ts';

/** The permission that the API server's authorizer misses by its message, as the end of a sentence; else nothing. */
export function missingPermission(message: string): string {
  const match = /cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/.exec(message);
  if (match === null) return '';
  const [, verb = '', resource = '', group = '', namespace] = match;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${namespace}`;
  return `; missing permission: the verb ${verb} on ${resource}${group === '' ? '' : `.${group}`} ${where}`;
}

/** Why the server did not do what was asked, for a person. */
export function refusal(response: KubeResponse): NodemaintError {
  const message = statusMessage(response);
  const { status } = response;
  const words = (): string => {
    if (status === 401) return `the API server does not accept these credentials: ${message}`;
    return status === 403 ? `${message}${missingPermission(message)}` : `the API server answered ${status}: ${message}`;
  };
  return new NodemaintError('API_REFUSED', words(), { status });
}

/** The name of the object that a 404 is about; undefined where it is the resource that is not there. */
export function missingName({ body }: KubeResponse): unknown {
  return (body as { details?: { name?: unknown } } | null)?.details?.name;
}

/** The error for a cluster that does not serve one of our resources, of the API group. */
export function notInstalled({ plural }: Resource, group: string): NodemaintError {
  const fix = 'its custom resources are missing; install them with "kubectl apply -k manifests"';
  return new NodemaintError('API_REFUSED', `this cluster has no ${plural}.${group}: ${fix}`);
}
