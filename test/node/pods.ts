import { TEST_IMAGE } from './images.ts';

/** How a test pod ends. */
export interface PodShape {
  /** Seconds it takes to end after SIGTERM. */
  readonly stopSec?: number;
  readonly graceSec?: number;
  readonly priorityClassName?: string;
  readonly priority?: number;
}

/** The pod spec of everything the tests run: host network, no image pull, and it takes its time to end. */
export function podSpec({ stopSec = 2, graceSec = 30, priorityClassName, priority }: PodShape): object {
  const script = `trap "sleep ${stopSec}; exit 0" TERM; while :; do sleep 0.2; done`;
  return {
    hostNetwork: true,
    terminationGracePeriodSeconds: graceSec,
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(priority === undefined ? {} : { priority }),
    containers: [{ name: 'main', image: TEST_IMAGE, imagePullPolicy: 'Never', command: ['/bin/sh', '-c', script] }],
  };
}

const EVERYTHING = [{ operator: 'Exists' }];

/** A Deployment of one pod. */
export function deployment(name: string, shape: PodShape = {}): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec(shape) } },
  };
}

/** A DaemonSet that tolerates everything. */
export function daemonSet(name: string, shape: PodShape = {}): object {
  const labels = { app: name };
  const spec = { ...podSpec(shape), tolerations: EVERYTHING };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'default' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** The manifest of a static pod in kube-system. */
export function staticPod(name: string, shape: PodShape = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system', labels: { app: name } },
    spec: podSpec(shape),
  };
}
