import type { RuntimePod } from '../../../src/decide/shutdown/running-pods.ts';

/** An ordinary pod as the container runtime shows it. */
export const RUNTIME_POD: RuntimePod = {
  namespace: 'default',
  name: 'web',
  uid: 'u-1',
  podType: 'Default',
  priority: 0,
  labels: {},
  sandboxIds: ['s-1'],
  graceSec: 30,
};
