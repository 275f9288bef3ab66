/** What tests need of Cluster API, which is not installed. */

/** A hook that another program has set on a Machine. */
export const OTHERS_HOOK = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/move-data';

/** As much of Cluster API's Machine as its hooks need; the name, the group and the version are its own. */
export const MACHINE_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'machines.cluster.x-k8s.io' },
  spec: {
    group: 'cluster.x-k8s.io',
    scope: 'Namespaced',
    names: { kind: 'Machine', plural: 'machines', singular: 'machine' },
    versions: [
      {
        name: 'v1beta2',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
