import type { Lease, LeaseSpec } from '../api/lease.ts';
import { CONTROLLER_NAMESPACE } from '../api/names.ts';
import type { KubeClient } from './client.ts';
import { collectionPath, LEASES, objectPath } from './resource.ts';
import { sendForObject } from './request.ts';

/** The name of a Lease and its namespace. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** The Lease of the controller, with the name that manifests/ give it. */
export const CONTROLLER_LEASE: LeaseName = { namespace: CONTROLLER_NAMESPACE, name: 'nodemaint-controller' };

/** Reads a Lease; undefined where there is none. Throws API_UNREACHABLE and API_REFUSED. */
export async function readLease(client: KubeClient, place: LeaseName, signal: AbortSignal): Promise<Lease | undefined> {
  return await sendForObject<Lease>(client, { method: 'GET', path: objectPath(LEASES, place) }, [404], signal);
}

/** A write of a Lease. */
interface LeaseWrite {
  /** The Lease as it was read, which is replaced; undefined where there was none, and it is created. */
  readonly old: Lease | undefined;
  readonly spec: LeaseSpec;
  /** Those that are to be on it beside the ones that it has. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Creates or replaces a Lease. Returns it as it is after the write, or undefined where another client has written or deleted
 * it since it was read. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function writeLease(
  client: KubeClient,
  place: LeaseName,
  { old, spec, annotations = {} }: LeaseWrite,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  if (old === undefined) {
    const path = collectionPath(LEASES, place.namespace);
    const body = { ...kind, metadata: { ...place, annotations }, spec };
    return await sendForObject<Lease>(client, { method: 'POST', path, body }, [409], signal);
  }
  const path = objectPath(LEASES, place);
  // Not a patch: the resourceVersion in the body makes the write fail where another client has written since, and a Lease that
  // was deleted is not created again.
  const metadata = { ...old.metadata, annotations: { ...old.metadata.annotations, ...annotations } };
  const body = { ...kind, metadata, spec };
  return await sendForObject<Lease>(client, { method: 'PUT', path, body }, [404, 409], signal);
}
