import path from 'node:path';
import process from 'node:process';

/** A minor version of Kubernetes whose components the tests can build. */
export type KubernetesMinor = '1.34' | '1.35' | '1.36' | '1.37';

/** A release of Kubernetes, and the folder of the go.mod that pins it. */
export interface Release {
  readonly minor: KubernetesMinor;
  /** As `v1.36.3`. */
  readonly version: string;
  readonly module: string;
}

const PATCHES: Readonly<Record<KubernetesMinor, number>> = { '1.34': 4, '1.35': 4, '1.36': 3, '1.37': 2 };

/** Its go.mod pins etcd too. */
const DEFAULT_MINOR: KubernetesMinor = '1.37';

function isKnown(minor: string): minor is KubernetesMinor {
  return Object.hasOwn(PATCHES, minor);
}

/** The release of a minor version. */
export function releaseOf(minor: KubernetesMinor): Release {
  const module = minor === DEFAULT_MINOR ? '.' : `kubernetes-${minor}`;
  return { minor, version: `v${minor}.${PATCHES[minor]}`, module: path.join(import.meta.dirname, module) };
}

/** The release that the tests run where nothing says another. */
export function defaultRelease(): Release {
  return releaseOf(DEFAULT_MINOR);
}

/** Whether the release that the tests run has MutatingAdmissionPolicy v1, by which pods are gated and plans completed. */
export function hasMutatingPolicies(): boolean {
  return isFrom(36);
}

/** The kinds of policies that the release has, as kubectl takes them. */
export function policyKinds(): string {
  return `validatingadmissionpolicies${hasMutatingPolicies() ? ',mutatingadmissionpolicies' : ''}`;
}

/** Why tests of what these policies do are left out; false where they run. */
export function withoutMutatingPolicies(what: string): string | false {
  return hasMutatingPolicies() ? false : `${what} before Kubernetes 1.36`;
}

/** Whether the kubelet of the release that the tests run knows the feature gate PodsAPI. */
export function hasPodsApi(): boolean {
  return isFrom(36);
}

/** The API of PodGroups in a release, that of the tests unless told, which the gate GenericWorkload turns on. */
export function podGroupApi(release = wantedRelease()): string {
  return `scheduling.k8s.io/${isFrom(37, release) ? 'v1beta1' : 'v1alpha2'}`;
}

function isFrom(minor: number, release = wantedRelease()): boolean {
  return Number(release.minor.slice(2)) >= minor;
}

/** The release that the tests run: that of NODEMAINT_KUBERNETES, such as 1.35, where it is set. Throws for one that is unknown. */
export function wantedRelease(wanted = process.env['NODEMAINT_KUBERNETES'] ?? DEFAULT_MINOR): Release {
  if (isKnown(wanted)) return releaseOf(wanted);
  throw new Error(`NODEMAINT_KUBERNETES=${wanted}: write one of ${Object.keys(PATCHES).join(', ')}`);
}
