import type { Attacker, Family } from './attack.ts';
import { CONTROLLER_ATTACKS } from './controller/on-maintenances.ts';
import { CONTROLLER_REQUEST_ATTACKS } from './controller/on-requests.ts';
import { EDITOR_ATTACKS } from './editor.ts';
import { KEEPER_ATTACKS } from './keeper.ts';
import { NODE_CLUSTER_ATTACKS } from './node-cluster.ts';
import { NODE_EVICTION_ATTACKS } from './node-evictions.ts';
import { NODE_MAINTENANCE_ATTACKS } from './node-maintenances.ts';
import { USER_ATTACKS } from './users.ts';

/** Every attack that the API server refuses. */
export const ATTACKS: readonly Family[] = [
  ...NODE_MAINTENANCE_ATTACKS,
  ...NODE_EVICTION_ATTACKS,
  ...NODE_CLUSTER_ATTACKS,
  ...CONTROLLER_ATTACKS,
  ...KEEPER_ATTACKS,
  ...USER_ATTACKS,
  ...EDITOR_ATTACKS,
  ...CONTROLLER_REQUEST_ATTACKS,
];

/** Who the attackers are, for the documentation. */
export const ATTACKERS: Readonly<Record<Attacker, string>> = {
  n1: 'a stolen identity of node n1',
  keeper: 'a user who may take node n1 out of use',
  editor: 'a user with the ClusterRole edit in a namespace',
  anybody: 'a user without any rights',
  requester: 'a user with all rights to EvictionRequests who may not delete pods',
  interceptor: 'an interceptor',
  controller: 'a thief of the token of nodemaint-controller',
};
