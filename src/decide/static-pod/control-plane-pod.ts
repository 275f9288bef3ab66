/** A part of the control plane without which nothing of it can be told or asked any more. */
export type ControlPlaneComponent = 'kube-apiserver' | 'etcd';

const COMPONENTS: readonly ControlPlaneComponent[] = ['kube-apiserver', 'etcd'];
/** The labels with which kubeadm, OpenShift and others name what a pod is. */
const LABELS = ['component', 'app', 'k8s-app'];

interface PodLook {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** spec.containers as the manifest has it, whatever that is. */
  readonly containers: unknown;
}

/** The last part of a path or of an image's name, without tag, digest and what distributions put before it. */
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
 * Whether a static pod is etcd or the API server, by its manifest alone: by the image or the program of a container, or by
 * label and name together, as each of those is free to choose.
 */
export function componentOf({ name, labels, containers }: PodLook): ControlPlaneComponent | undefined {
  const programs = programsIn(containers);
  return COMPONENTS.find((component) => {
    const isNamed = name === component || name.startsWith(`${component}-`);
    return programs.includes(component) || (isNamed && LABELS.some((label) => labels[label] === component));
  });
}

/** What goes later has the higher rank: all others, then the API server, then etcd, in which the API server writes. */
export function leaveRank(component: ControlPlaneComponent | undefined): number {
  return component === undefined ? 0 : COMPONENTS.indexOf(component) + 1;
}
