import type { Node } from '../../api/pod.ts';

/** A component without which the control plane cannot be read or written, from this node at least: a proxy carries the way there. */
export type ControlPlaneComponent = 'proxy' | 'kube-apiserver' | 'etcd';

const COMPONENTS: readonly ControlPlaneComponent[] = ['proxy', 'kube-apiserver', 'etcd'];
/** What carries a local or a virtual address of the API server (kubespray, k0s, kubeadm's page on high availability). */
const PROXIES = /^(?:nginx|haproxy|kube-vip|keepalived|envoy)(?:-|$)/;
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
    if (component === 'proxy') return programs.some((program) => PROXIES.test(program));
    const isNamed = name === component || name.startsWith(`${component}-`);
    return programs.includes(component) || (isNamed && LABELS.some((label) => labels[label] === component));
  });
}

/** The ports of the machine on which a pod of this spec says that it listens; not validated. */
export function portsOfMachine(spec: { hostNetwork?: unknown; containers?: unknown }): readonly number[] {
  const list = (value: unknown): readonly (Record<string, unknown> | null)[] => (Array.isArray(value) ? value : []);
  const declared = list(spec.containers).flatMap((each) => list(each?.['ports']));
  const ports = declared.flatMap((port) => [port?.['hostPort'], spec.hostNetwork === true && port?.['containerPort']]);
  return ports.filter((port) => typeof port === 'number');
}

/** Pods with a higher rank leave later: first all others, then proxies, then the API server, then etcd, which the API server needs. */
export function leaveRank(component: ControlPlaneComponent | undefined): number {
  return component === undefined ? 0 : COMPONENTS.indexOf(component) + 1;
}

/**
 * Whether the API server's address stays with the Node: it is of the loopback network, or one of its addresses. A virtual one,
 * which moves, is neither, also while it is bound here: what carries it leaves like any other pod.
 */
export function isAddressOfNode({ hostname }: Pick<URL, 'hostname'>, node: Node | undefined): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host === '::1' || /^127\.[\d.]+$/.test(host)) return true;
  return node?.status?.addresses?.some(({ address }) => address.toLowerCase() === host) === true;
}

/** A program of the control plane that leaves, or comes back, in an order of its own: managers, then the API server, then etcd. */
export interface ControlPlaneProgram {
  readonly name: 'etcd' | 'kube-apiserver' | 'kube-scheduler' | 'kube-controller-manager';
  /** Its flags of the form `--NAME=VALUE`, without the dashes. */
  readonly flags: Readonly<Record<string, string>>;
  /** Where it says to the kubelet whether it is ready; absent where its manifest has no such probe. */
  readonly readyUrl?: string;
}

/** A static pod, as far as it says on which ports of the machine it listens. */
interface Listener {
  readonly component?: ControlPlaneComponent;
  readonly program?: ControlPlaneProgram;
  readonly ports?: readonly number[];
}

/** More are not told in the report of the agent, by which the controller goes. */
export const MOST_CARRIERS = 8;

/**
 * The static pods that carry the way to an own address: what listens on its port, and etcd below an own API server. Where none
 * says that it listens there, etcd, the API server and proxies may.
 */
export function carriersOf<T extends Listener>(pods: readonly T[], { port }: Pick<URL, 'port'>): readonly T[] {
  const own = Number(port || 443);
  const isApi = ({ component, program }: Listener): boolean =>
    component === 'kube-apiserver' && Number(program?.flags['secure-port'] ?? 6443) === own;
  const listening = new Set(pods.filter((pod) => isApi(pod) || pod.ports?.includes(own) === true));
  const hasApi = [...listening].some(({ component }) => component === 'kube-apiserver');
  const isBelow = ({ component }: Listener): boolean =>
    hasApi ? component === 'etcd' : listening.size === 0 && component !== undefined;
  return pods.filter((pod) => listening.has(pod) || isBelow(pod)).slice(0, MOST_CARRIERS);
}

const PROGRAMS: readonly ControlPlaneProgram['name'][] = [
  'etcd',
  'kube-apiserver',
  'kube-scheduler',
  'kube-controller-manager',
];
const MAX_FLAG = 4_096;
const MAX_FLAGS = 500;

interface Probed {
  readonly httpGet?: {
    readonly scheme?: unknown;
    readonly host?: unknown;
    readonly port?: unknown;
    readonly path?: unknown;
  };
}

function readyUrlOf(probe: Probed | null | undefined): string | undefined {
  const { scheme = 'HTTP', host = '127.0.0.1', port, path = '/' } = probe?.httpGet ?? {};
  const url = `${String(scheme).toLowerCase()}://${String(host)}:${String(port)}${String(path)}`;
  return typeof port === 'number' && /^https?:/.test(url) && URL.canParse(url) ? url : undefined;
}

/** The program of the control plane that a pod of this spec runs, not validated; undefined for other pods. */
export function controlPlaneProgram(containers: unknown): ControlPlaneProgram | undefined {
  for (const container of Array.isArray(containers) ? (containers as unknown[]) : []) {
    const programs = programsIn([container]);
    const name = PROGRAMS.find((each) => programs.includes(each));
    if (name === undefined) continue;
    const { command, args, readinessProbe } = container as Record<'command' | 'args' | 'readinessProbe', unknown>;
    const words = [command, args]
      .flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []))
      .slice(0, MAX_FLAGS);
    const flags = words.flatMap((word) => {
      const [, flag = '', value = ''] = /^--([a-z-]+)=(.*)$/s.exec(typeof word === 'string' ? word : '') ?? [];
      return flag === '' || value.length > MAX_FLAG ? [] : [[flag, value] as const];
    });
    const readyUrl = readyUrlOf(readinessProbe as Probed | undefined);
    return { name, flags: Object.fromEntries(flags), ...(readyUrl === undefined ? {} : { readyUrl }) };
  }
  return undefined;
}
