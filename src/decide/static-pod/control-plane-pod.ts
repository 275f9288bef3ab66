/** A component without which the control plane cannot be read or written, from this node at least: a proxy carries the way there. */
export type ControlPlaneComponent = 'proxy' | 'kube-apiserver' | 'etcd';

const COMPONENTS: readonly ControlPlaneComponent[] = ['proxy', 'kube-apiserver', 'etcd'];
/** What carries a local or a virtual address of the API server (kubespray, kubeadm's page on high availability). */
const PROXIES = ['nginx', 'haproxy', 'kube-vip', 'keepalived', 'envoy'];
/** The labels in which kubeadm, OpenShift and other distributions name the component of a pod. */
const LABELS = ['component', 'app', 'k8s-app'];

interface PodDescription {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** spec.containers of the manifest, not validated. */
  readonly containers: unknown;
}

/** The last part of a path or of an image's name, without tag, digest and the prefixes of distributions. */
function programOf(text: string): string {
  const last = text.split('@')[0]?.split('/').at(-1) ?? '';
  return last.split(':')[0]?.replace(/^hardened-/, '') ?? '';
}

function programsIn(containers: unknown): readonly string[] {
  if (!Array.isArray(containers)) return [];
  return containers.flatMap((container: unknown) => {
    if (typeof container !== 'object' || container === null) return [];
    const { image, command } = container as { image?: unknown; command?: unknown };
    const first: unknown = Array.isArray(command) ? command[0] : undefined;
    return [image, first].filter((text) => typeof text === 'string').map(programOf);
  });
}

/**
 * The component that a static pod runs, if it is etcd, the API server or a proxy. Recognized from the manifest alone: by the image or
 * the program of a container, or by label and name together, because either of the two alone may be chosen freely.
 */
export function componentOfManifest({ name, labels, containers }: PodDescription): ControlPlaneComponent | undefined {
  const programs = programsIn(containers);
  return COMPONENTS.find((component) => {
    if (component === 'proxy') return programs.some((program) => PROXIES.includes(program));
    const isNamed = name === component || name.startsWith(`${component}-`);
    return programs.includes(component) || (isNamed && LABELS.some((label) => labels[label] === component));
  });
}

/** Pods with a higher rank leave later: first all others, then proxies, then the API server, then etcd, which the API server needs. */
export function leaveRank(component: ControlPlaneComponent | undefined): number {
  return component === undefined ? 0 : COMPONENTS.indexOf(component) + 1;
}
