/** What several commands read of a fleet. */
import { AGENT_STATUS_ANNOTATION, VERSION_ANNOTATION } from '../../api/names.ts';
import { commonVersion, type FleetNode, fleetNode } from '../../show/fleet/node-state.ts';
import { readPresence } from '../../decide/presence/presence.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listFleet } from '../../kube/fleet.ts';
import { ifAllowed } from './cluster.ts';
import { CONTROLLER_LEASE, readLease } from '../../kube/lease.ts';

/** The nodes of a cluster, and what leads it. */
interface Fleet {
  /** Sorted by name. */
  readonly nodes: readonly FleetNode[];
  /** The version of the controller that had the Lease last; undefined where none is known or it may not be read. */
  readonly controller: string | undefined;
}

async function controllerVersion(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const lease = await ifAllowed(readLease(client, CONTROLLER_LEASE, signal));
  return lease?.metadata.annotations?.[VERSION_ANNOTATION];
}

/** The nodes that the selector matches, and the version of the controller. Throws API_UNREACHABLE and API_REFUSED. */
export async function readFleet(
  client: KubeClient,
  selector: string,
  now: number,
  signal: AbortSignal,
): Promise<Fleet> {
  const [listed, controller] = await Promise.all([
    listFleet(client, selector, signal),
    controllerVersion(client, signal),
  ]);
  const versions = listed.flatMap(({ metadata }) => {
    const version = readPresence(metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '')?.version ?? '';
    return version === '' ? [] : [version];
  });
  const expected = controller ?? commonVersion(versions);
  const nodes = listed
    .map((node) => fleetNode(node, expected, now))
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { nodes, controller };
}
