/** What a thief of the token of `nodemaint cluster-api` tries. */
import { NODE_MAINTENANCES, NODES, objectPath, type Resource } from '../../../../src/kube/resource.ts';
import { allowed, type Attack, type Call, type Family, policy, RBAC, refused, type Refuser } from '../attack.ts';
import { dry, patched } from '../scene.ts';
import { OTHERS_HOOK } from '../../cluster-api.ts';

export const MACHINES: Resource = { root: '/apis/cluster.x-k8s.io/v1beta2', plural: 'machines', namespaced: true };
export const HOOK = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/nodemaint';
const NAMESPACE = 'default';

const onMachine = (words: RegExp): Refuser => policy('nodemaint-cluster-api-machines', words);
const OWN_HOOK = onMachine(/only its own hook/u);
const NOT_NOW = onMachine(/only on a Machine that has a node and is not being deleted/u);
const NOTHING_ELSE = onMachine(/may change nothing else of a Machine/u);

const tries = (name: string, refuser: Refuser, call: Call): Attack => refused('clusterApi', name, refuser, call);

function changed(name: string, body: object): Call {
  return () => patched(MACHINES, { name, namespace: NAMESPACE }, body);
}
function annotated(name: string, annotations: object): Call {
  return changed(name, { metadata: { annotations } });
}

export const CLUSTER_API_ATTACKS: readonly Family[] = [
  {
    attacker: 'clusterApi',
    title: 'Machines',
    control: allowed(
      'clusterApi',
      'sets its hook on the Machine of a node',
      annotated('m-n1', { [HOOK]: 'nodemaint' }),
    ),
    attacks: [
      tries('sets its hook on a Machine that has no node', NOT_NOW, annotated('of-no-node', { [HOOK]: 'nodemaint' })),
      tries('sets its hook on a Machine that is being deleted', NOT_NOW, annotated('leaving', { [HOOK]: 'nodemaint' })),
      tries('takes the hook of somebody else away', OWN_HOOK, annotated('m-n1', { [OTHERS_HOOK]: null })),
      tries('sets a hook of another name', OWN_HOOK, annotated('m-n1', { [`${HOOK}-2`]: 'nodemaint' })),
      tries('sets its hook in the name of somebody else', OWN_HOOK, annotated('m-n1', { [HOOK]: 'somebody' })),
      tries(
        'lets Cluster API replace a Machine',
        OWN_HOOK,
        annotated('m-n1', { 'cluster.x-k8s.io/delete-machine': 'yes' }),
      ),
      tries(
        'gives a Machine to another cluster by its label',
        onMachine(/only its own label/u),
        changed('m-n1', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'mine' } } }),
      ),
      tries(
        'takes the finalizer of a Machine away, so that its machine is lost',
        NOTHING_ELSE,
        changed('m-n1', { metadata: { finalizers: [] } }),
      ),
      tries(
        'gives a Machine an owner that does not exist, so that it is collected',
        NOTHING_ELSE,
        changed('m-n1', {
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] },
        }),
      ),
      tries('changes the spec of a Machine', NOTHING_ELSE, changed('m-n1', { spec: { providerID: 'aws:///evil' } })),
      tries('says that a Machine has another node', RBAC, () =>
        dry('PATCH', objectPath(MACHINES, { name: 'm-n1', namespace: NAMESPACE }, 'status'), {
          body: { status: { nodeRef: { name: 'n2' } } },
          patch: { kind: 'merge' },
        }),
      ),
      tries('deletes a Machine', RBAC, () =>
        dry('DELETE', objectPath(MACHINES, { name: 'm-n1', namespace: NAMESPACE })),
      ),
    ],
  },
  {
    attacker: 'clusterApi',
    title: 'nodes and their maintenances',
    control: allowed('admin', 'an administrator cordons the node', () =>
      patched(NODES, { name: 'n1' }, { spec: { unschedulable: true } }),
    ),
    attacks: [
      tries('cordons a node', RBAC, () => patched(NODES, { name: 'n1' }, { spec: { unschedulable: true } })),
      tries('completes a NodeMaintenance', RBAC, () =>
        patched(NODE_MAINTENANCES, { name: 'of-a-person' }, { spec: { stage: 'Complete' } }),
      ),
    ],
  },
];
