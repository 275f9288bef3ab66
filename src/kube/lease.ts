import { CONTROLLER_LEASE_NAME, CONTROLLER_NAMESPACE, type Lease, type LeaseSpec } from '../api/lease.ts';
import type { KubeClient } from './client.ts';
import { collectionPath, LEASES, objectPath, sendForObject } from './resource.ts';

/** Where a Lease lies. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** The Lease of the controller, where it is installed as manifests/ has it. */
export const CONTROLLER_LEASE: LeaseName = { namespace: CONTROLLER_NAMESPACE, name: CONTROLLER_LEASE_NAME };

/** Reads a Lease; undefined where there is none. Throws API_UNREACHABLE and API_REFUSED. */
export async function readLease(client: KubeClient, place: LeaseName, signal: AbortSignal): Promise<Lease | undefined> {
  return await sendForObject<Lease>(client, { method: 'GET', path: objectPath(LEASES, place) }, [404], signal);
}

/**
 * Writes a Lease: makes it where `old` is undefined, else replaces what was read. Returns it as it is then, or undefined
 * where somebody else was faster. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function writeLease(
  client: KubeClient,
  place: LeaseName,
  old: Lease | undefined,
  spec: LeaseSpec,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  if (old === undefined) {
    const path = collectionPath(LEASES, place.namespace);
    return await sendForObject<Lease>(
      client,
      { method: 'POST', path, body: { ...kind, metadata: place, spec } },
      [409],
      signal,
    );
  }
  const body = { ...kind, metadata: old.metadata, spec };
  // Not a patch: the resourceVersion in it makes sure that nobody has written since, and a deleted one is not ours to make.
  return await sendForObject<Lease>(
    client,
    { method: 'PUT', path: objectPath(LEASES, place), body },
    [404, 409],
    signal,
  );
}
