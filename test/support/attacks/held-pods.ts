/** What a stolen identity of node n1 tries as the account nodemaint-agent-release, which agents may act as. */
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, PODS } from '../../../src/kube/resource.ts';
import { allowed, type Attack, type Family, policy, refused } from './attack.ts';
import { dry, RELEASE, TEAM } from './scene.ts';

const released = (query: string): KubeRequest => ({
  ...dry('DELETE', `${collectionPath(PODS, TEAM)}${query}`),
  as: RELEASE,
});
const named = (name: string): string => `?fieldSelector=metadata.name%3D${name}`;
const deletes = (what: string, words: RegExp, query: string): Attack =>
  refused('n1', `deletes ${what} as it`, policy('nodemaint-held-pods', words), () => released(query));

export const HELD_POD_ATTACKS: Family = {
  title: 'a stolen identity of node n1: the account nodemaint-agent-release, which agents may act as',
  control: allowed('n1', 'lets go of a pod that is held for it', () => released(named('held-n1'))),
  attacks: [
    deletes('a running pod', /only delete pods that the gate of a maintenance keeps from starting/u, named('web-2')),
    deletes('a pod that is gated and of no DaemonSet', /only delete pods of DaemonSets/u, named('gated-n1')),
    deletes(
      'a pod that is gated for n2, by the label of n1',
      /only delete pods that are for the node of their label/u,
      named('mislabelled'),
    ),
    // Of several pods that are refused, the API server names any one.
    deletes('all pods of a namespace', /an agent may only delete pods/u, ''),
  ],
};
