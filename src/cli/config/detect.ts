/** `nodemaint config detect`: the keys of the configuration that this machine itself tells. */
import { stat } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { createKubeletFinder } from '../../host/kubelet/finder.ts';
import { servicesOnce } from '../machine/local-node.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Where the usual installations have their files. */
interface UsualPlaces {
  readonly kubeconfigs: readonly string[];
  readonly sockets: readonly string[];
}

const USUAL: UsualPlaces = {
  kubeconfigs: [
    // kubeadm; EKS, GKE, AKS and OpenShift; k3s; RKE2; k0s.
    '/etc/kubernetes/kubelet.conf',
    '/var/lib/kubelet/kubeconfig',
    '/var/lib/rancher/k3s/agent/kubelet.kubeconfig',
    '/var/lib/rancher/rke2/agent/kubelet.kubeconfig',
    '/var/lib/k0s/kubelet.conf',
  ],
  sockets: [
    '/run/k3s/containerd/containerd.sock',
    '/run/k0s/containerd.sock',
    '/run/containerd/containerd.sock',
    '/run/crio/crio.sock',
    '/run/cri-dockerd.sock',
  ],
};

/** What was found; a key that nothing tells is absent. */
interface Detected {
  readonly kubeconfig?: string;
  readonly containerRuntimeEndpoint?: string;
}

async function firstOf(kind: 'isFile' | 'isSocket', places: readonly string[]): Promise<string | undefined> {
  for (const place of places) {
    const found = await stat(place).catch(() => undefined);
    if (found?.[kind]() === true) return place;
  }
  return undefined;
}

/** The endpoint as the agent's configuration has it; undefined for one of another kind. */
function endpointOf(kubelets: string | undefined): string | undefined {
  if (kubelets?.startsWith('/') === true) return `unix://${kubelets}`;
  return kubelets?.startsWith('unix:///') === true ? kubelets : undefined;
}

/** What the running kubelet has, else the first of the usual files that exists. */
export async function detect(
  kubelet: Pick<KubeletFacts, 'kubeconfig' | 'containerRuntimeEndpoint'> | undefined,
  usual: UsualPlaces = USUAL,
): Promise<Detected> {
  const kubeconfig = kubelet?.kubeconfig ?? (await firstOf('isFile', usual.kubeconfigs));
  const socket = await firstOf('isSocket', usual.sockets);
  const endpoint = endpointOf(kubelet?.containerRuntimeEndpoint) ?? endpointOf(socket);
  return {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(endpoint !== undefined && { containerRuntimeEndpoint: endpoint }),
  };
}

/**
 * `nodemaint config detect`: prints the keys as YAML. Only a kubelet that the agent would trust is asked. Throws
 * KUBELET_AMBIGUOUS, and CONFIG_INVALID for the kubelet's files.
 */
export async function detectConfigCommand(terminal: Terminal): Promise<void> {
  const finder = createKubeletFinder({ scope: {}, systemd: { services: servicesOnce }, unit: undefined });
  const found = await detect(await finder.config(terminal.signal));
  if (Object.keys(found).length > 0) terminal.write(stringify(found));
  else terminal.warn('nodemaint: no kubelet runs here, and none of the usual kubeconfigs and sockets exists\n');
}
