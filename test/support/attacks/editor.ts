/** What a user with the ClusterRole edit in one namespace tries on the programs of the product. */
import { collectionPath, DAEMON_SETS, PODS, type Resource } from '../../../src/kube/resource.ts';
import { allowed, type Attack, type Call, type Family, RBAC, refused } from './attack.ts';
import { dry, patched, podBody, SYSTEM, TEAM } from './scene.ts';

const RBAC_GROUP = '/apis/rbac.authorization.k8s.io/v1';
const DEPLOYMENTS: Resource = { root: '/apis/apps/v1', plural: 'deployments', namespaced: true };

const tries = (name: string, call: Call): Attack => refused('editor', name, RBAC, call);

function bound(kind: 'RoleBinding' | 'ClusterRoleBinding', role: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: 'mine' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'editor' }],
  };
}

export const EDITOR_ATTACKS: readonly Family[] = [
  {
    attacker: 'editor',
    title: 'the programs of the product and their rights',
    control: allowed('editor', 'makes a pod in its own namespace', () =>
      dry('POST', collectionPath(PODS, TEAM), { body: podBody('mine') }),
    ),
    attacks: [
      tries('makes a pod in the namespace of the product, with its account', () =>
        dry('POST', collectionPath(PODS, SYSTEM), {
          body: podBody('evil', {}, { serviceAccountName: 'nodemaint-controller' }),
        }),
      ),
      tries('scales the controller to none', () =>
        patched(DEPLOYMENTS, { name: 'nodemaint-controller', namespace: SYSTEM }, { spec: { replicas: 0 } }),
      ),
      tries('changes the program that is installed on every node', () =>
        patched(DAEMON_SETS, { name: 'nodemaint-installer', namespace: 'nodemaint-installer' }, { spec: {} }),
      ),
      tries('takes the network policy of the controller away', () =>
        dry('DELETE', `/apis/networking.k8s.io/v1/namespaces/${SYSTEM}/networkpolicies/nodemaint-controller`),
      ),
      tries('gives itself the role of people who take nodes out of use', () =>
        dry('POST', `${RBAC_GROUP}/clusterrolebindings`, { body: bound('ClusterRoleBinding', 'nodemaint-operator') }),
      ),
      tries('gives itself the role of interceptors in its own namespace', () =>
        dry('POST', `${RBAC_GROUP}/namespaces/${TEAM}/rolebindings`, {
          body: bound('RoleBinding', 'nodemaint-interceptor'),
        }),
      ),
    ],
  },
];
