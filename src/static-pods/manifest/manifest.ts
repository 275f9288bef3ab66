/**
 * Parses a static pod manifest as the kubelet does: every file that the kubelet runs must be a pod here too, or the drain would
 * miss its containers. The bytes are untrusted; parsing never throws.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import * as z from 'zod';
import {
  type ControlPlaneComponent,
  type ControlPlaneProgram,
  componentOfManifest,
  controlPlaneProgram,
  portsOfMachine,
} from '../../decide/static-pod/control-plane-pod.ts';
import { describeError } from '../../errors.ts';
import { decodeYaml } from './yaml.ts';
import { DEFAULT_GRACE_SEC, MAX_GRACE_SEC } from '../../decide/pod.ts';

/** A file in the static pod directory that holds one v1 Pod. */
export interface Manifest {
  readonly kind: 'pod';
  /** The file's name in its directory. */
  readonly file: string;
  /** Hash of the file's bytes, in hexadecimal. */
  readonly sha256: string;
  readonly namespace: string;
  /** The name in the manifest. */
  readonly name: string;
  /** The name in the API server and the container runtime, which ends with the node's name. */
  readonly podName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly priority: number;
  /** False if the priority comes from a PriorityClass of the cluster; then the mirror pod has the resolved value. */
  readonly priorityKnown: boolean;
  /** Seconds between SIGTERM and SIGKILL; at least 1, as in the kubelet, and at most a year. */
  readonly graceSec: number;
  /** Set only for etcd, the API server and proxies. */
  readonly component?: ControlPlaneComponent;
  /** Set only for programs of the control plane. */
  readonly program?: ControlPlaneProgram;
  /** The ports of the machine on which it says that it listens; absent for none. */
  readonly ports?: readonly number[];
}

/** A file that is not a pod. `reason` names the file, the problem, whether the kubelet ignores the file too, and the fix. */
export interface InvalidManifest {
  readonly kind: 'invalid';
  readonly file: string;
  readonly reason: string;
}

/** Files of this size or more are refused, as by the kubelet. */
export const MAX_MANIFEST_BYTES = 10 * 1024 * 1024;

const MIN_GRACE_SEC = 1;
const SYSTEM_PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const INT32 = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);
const STRING_MAP = z.record(z.string(), z.string().nullable());

const POD = z.object({
  metadata: z
    .object({
      name: z.string().nullish(),
      namespace: z.string().nullish(),
      labels: STRING_MAP.nullish(),
      annotations: STRING_MAP.nullish(),
    })
    .nullish(),
  spec: z
    .object({
      priority: INT32.nullish(),
      priorityClassName: z.string().nullish(),
      terminationGracePeriodSeconds: z.number().refine(Number.isInteger, 'expected an integer').nullish(),
      containers: z.unknown().optional(),
      hostNetwork: z.unknown().optional(),
    })
    .nullish(),
});

type PodDocument = z.infer<typeof POD>;

/** Why a file is not a manifest: the problem and the fix. */
class Refusal extends Error {
  constructor(wrong: string, fix: string) {
    super(`${wrong}; the kubelet ignores it too; ${fix}`);
  }
}

/**
 * Parses one file of the static pod directory of the node `nodeName`. Of a YAML file with several documents only the first is
 * used, as by the kubelet.
 */
export function parseManifest(
  file: { readonly name: string; readonly bytes: Buffer },
  nodeName: string,
): Manifest | InvalidManifest {
  try {
    return describePod(file, decodePod(decodeText(file.bytes)), nodeName);
  } catch (error) {
    // Other errors come from a parser that may be stricter than the kubelet's, for instance about the number of aliases.
    const why =
      error instanceof Refusal
        ? error.message
        : `not readable (${describeError(error)}); a pod that the kubelet makes of it is not drained; correct or simplify it`;
    return { kind: 'invalid', file: file.name, reason: `${file.name}: ${why}` };
  }
}

function decodeText(bytes: Buffer): unknown {
  if (bytes.length >= MAX_MANIFEST_BYTES) throw new Refusal('10 MiB or larger', 'shorten it');
  if (!isUtf8(bytes)) throw new Refusal('not UTF-8 text', 'correct it, or move it out of the directory');
  const text = bytes.toString('utf8');
  return /^[ \t\r\n]*\{/.test(text) ? decodeJson(text) : decodeYaml(text);
}

function decodeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(`not JSON (${String(error)})`, 'correct it, or move it out of the directory');
  }
}

function decodePod(content: unknown): PodDocument {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    const what = content === null || content === undefined ? 'its first document is empty' : 'it is no object';
    throw new Refusal(`not a v1 Pod (${what})`, 'write one Pod into it, or move it out of the directory');
  }
  // The kubelet ignores the case of these two keys, and accepts an empty group.
  const [kind, apiVersion] = [lookUp(content, 'kind'), lookUp(content, 'apiVersion')];
  if (kind !== 'Pod' || (apiVersion !== 'v1' && apiVersion !== '/v1')) {
    const what = kind === 'Pod' ? `apiVersion is ${inWords(apiVersion)}` : `kind is ${inWords(kind)}`;
    throw new Refusal(`not a v1 Pod (${what})`, 'write one Pod a file, or move it out of the directory');
  }
  const pod = POD.safeParse(content);
  if (pod.success) return pod.data;
  const issues = pod.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  throw new Refusal(`not a valid Pod (${issues.slice(0, 3).join('; ')})`, 'correct it');
}

function lookUp(content: object, name: string): unknown {
  const entries = Object.entries(content);
  return (entries.find(([key]) => key === name) ??
    entries.find(([key]) => key.toLowerCase() === name.toLowerCase()))?.[1];
}

function inWords(value: unknown): string {
  if (value === undefined || value === null) return 'missing';
  return typeof value === 'string' ? value.slice(0, 100) : `of type ${typeof value}`;
}

function describePod(
  file: { readonly name: string; readonly bytes: Buffer },
  { metadata, spec }: PodDocument,
  nodeName: string,
): Manifest {
  const name = metadata?.name ?? '';
  if (name === '') throw new Refusal('metadata.name is missing', 'set it');
  const podName = `${name}-${nodeName.toLowerCase()}`;
  if (!isDnsSubdomain(podName)) {
    const wrong = `metadata.name gives the pod name ${podName.slice(0, 300)}, which is no DNS subdomain`;
    throw new Refusal(wrong, 'use lower case letters, digits, "-" and ".", with the node name up to 253 characters');
  }
  const namespace = metadata?.namespace || 'default';
  if (namespace.length > 63 || !DNS_LABEL.test(namespace)) {
    throw new Refusal(`metadata.namespace ${namespace.slice(0, 100)} is no DNS label`, 'correct it');
  }
  const labels = withoutNulls(metadata?.labels);
  const priority = spec?.priority ?? SYSTEM_PRIORITIES.get(spec?.priorityClassName ?? '');
  return {
    kind: 'pod',
    file: file.name,
    sha256: createHash('sha256').update(file.bytes).digest('hex'),
    namespace,
    name,
    podName,
    labels,
    annotations: withoutNulls(metadata?.annotations),
    priority: priority ?? 0,
    priorityKnown: priority !== undefined,
    graceSec: clamp(spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SEC, MIN_GRACE_SEC, MAX_GRACE_SEC),
    ...controlPlaneOf(name, labels, spec ?? {}),
  };
}

/** What the pod is of the control plane; empty for another pod. */
function controlPlaneOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  spec: NonNullable<PodDocument['spec']>,
): Pick<Manifest, 'component' | 'program' | 'ports'> {
  const { containers } = spec;
  const component = componentOfManifest({ name, labels, containers });
  const program = controlPlaneProgram(containers);
  const ports = portsOfMachine(spec);
  return { ...(component && { component }), ...(program && { program }), ...(ports.length > 0 && { ports }) };
}

function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => DNS_LABEL.test(label));
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

function withoutNulls(map: Readonly<Record<string, string | null>> | null | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, value ?? '']));
}
