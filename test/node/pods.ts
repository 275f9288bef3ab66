import { TEST_IMAGE } from './images.ts';

/** How a test pod ends. */
export interface PodShape {
  /** Seconds it takes to end after SIGTERM. */
  readonly stopSec?: number;
  /** The name of a file of `witness`; a pod that was told to end waits until that is there, in place of `stopSec`. */
  readonly stopsAt?: string;
  readonly graceSec?: number;
  readonly priorityClassName?: string;
  readonly priority?: number;
  /** A folder of the node whose file `log` gets a line "NAME TERM" and a line "NAME END". */
  readonly witness?: string;
}

/** The pod spec of everything the tests run: host network, no image pull, and it takes its time to end. */
export function podSpec(name: string, shape: PodShape): object {
  const { stopSec = 2, stopsAt, graceSec = 30, priorityClassName, priority, witness } = shape;
  const tell = (what: string): string => (witness === undefined ? '' : `echo "${name} ${what}" >> /witness/log; `);
  const stop = stopsAt === undefined ? `sleep ${stopSec}` : `until [ -e /witness/${stopsAt} ]; do sleep 0.5; done`;
  const script = `trap '${tell('TERM')}${stop}; ${tell('END')}exit 0' TERM; while :; do sleep 0.2; done`;
  const mount = witness === undefined ? {} : { volumeMounts: [{ name: 'witness', mountPath: '/witness' }] };
  const container = {
    name: 'main',
    image: TEST_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/bin/sh', '-c', script],
    ...mount,
  };
  return {
    hostNetwork: true,
    terminationGracePeriodSeconds: graceSec,
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(priority === undefined ? {} : { priority }),
    containers: [container],
    ...(witness === undefined ? {} : { volumes: [{ name: 'witness', hostPath: { path: witness } }] }),
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
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec(name, shape) },
    },
  };
}

/** A DaemonSet that tolerates everything. */
export function daemonSet(name: string, shape: PodShape = {}): object {
  const labels = { app: name };
  const spec = { ...podSpec(name, shape), tolerations: EVERYTHING };
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
    spec: podSpec(name, shape),
  };
}
