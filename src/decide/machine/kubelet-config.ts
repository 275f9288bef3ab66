/**
 * What configuration a kubelet runs with: its flags, its configuration file and the drop-ins over that, put together as
 * the kubelet does it (kubernetes cmd/kubelet/app/server.go, mergeKubeletConfigurations and kubeletConfigFlagPrecedence).
 */

/** Flags by name without dashes; if one is given twice, the last value applies. */
export type KubeletFlags = ReadonlyMap<string, string>;

/** The fields of a KubeletConfiguration (v1beta1) that the agent needs. Durations are in Go's format. */
export interface KubeletDocument {
  readonly staticPodPath?: string | undefined;
  readonly staticPodURL?: string | undefined;
  readonly containerRuntimeEndpoint?: string | undefined;
  readonly fileCheckFrequency?: string | undefined;
  readonly healthzPort?: number | undefined;
  readonly healthzBindAddress?: string | undefined;
  readonly shutdownGracePeriod?: string | undefined;
  readonly shutdownGracePeriodCriticalPods?: string | undefined;
  readonly shutdownGracePeriodByPodPriority?: readonly ShutdownGracePeriod[] | undefined;
}

/** The grace period of pods from this priority up to that of the next entry (KubeletConfiguration, ShutdownGracePeriodByPodPriority). */
interface ShutdownGracePeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** The effective configuration of a running kubelet. */
export interface KubeletFacts {
  readonly pid: number;
  /** The file of --config; undefined if the flag is not given. */
  readonly configFile: string | undefined;
  /** The folder of --config-dir; undefined if the flag is not given. */
  readonly dropInDirectory: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly hostnameOverride: string | undefined;
  /** Undefined if it reads no static pods from files. */
  readonly staticPodPath: string | undefined;
  /** Whether it also takes static pods from a URL. */
  readonly hasStaticPodUrl: boolean;
  readonly containerRuntimeEndpoint: string | undefined;
  /** The interval at which it reads the static pod directory, in milliseconds. */
  readonly fileCheckFrequencyMs: number;
  /** 0 if it does not serve /healthz. */
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  /** The duration of its own graceful shutdown, in milliseconds; 0 means off. */
  readonly shutdownGracePeriodMs: number;
  /** The part of that duration reserved for critical pods, in milliseconds. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownGracePeriod[];
}

const DEFAULT_FILE_CHECK_MS = 20_000;
const DEFAULT_HEALTHZ_PORT = 10_248;
const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({ h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }),
);

/** Parses the flags of a command line, in the forms `--name=value` and `--name value`. */
export function parseKubeletFlags(argv: readonly string[]): KubeletFlags {
  const flags = new Map<string, string>();
  for (const [index, word] of argv.entries()) {
    const match = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(word);
    if (match?.[1] === undefined) continue;
    const next = argv[index + 1];
    const value = match[2] ?? (next === undefined || next.startsWith('--') ? undefined : next);
    if (value !== undefined) flags.set(match[1], value);
  }
  return flags;
}

/** Parses a duration in Go's format, such as 1h30m or 20s, to milliseconds; undefined if it is not a duration. */
export function goDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:h|ms|m|us|µs|ns|s))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)/g);
  return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS.get(unit) ?? 0), 0);
}

function nonEmpty(...values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined && value !== '');
}

function portOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

/** The effective configuration from flags and the merged files; flags have precedence. */
export function effectiveKubelet(pid: number, flags: KubeletFlags, document: KubeletDocument): KubeletFacts {
  const frequency = goDurationMs(flags.get('file-check-frequency') ?? document.fileCheckFrequency ?? '0') ?? 0;
  return {
    pid,
    configFile: nonEmpty(flags.get('config')),
    dropInDirectory: nonEmpty(flags.get('config-dir')),
    kubeconfig: nonEmpty(flags.get('kubeconfig')),
    hostnameOverride: nonEmpty(flags.get('hostname-override')),
    // A flag that is given has precedence even if it is empty.
    staticPodPath: nonEmpty(flags.get('pod-manifest-path') ?? document.staticPodPath),
    hasStaticPodUrl: nonEmpty(flags.get('manifest-url') ?? document.staticPodURL) !== undefined,
    containerRuntimeEndpoint: nonEmpty(flags.get('container-runtime-endpoint'), document.containerRuntimeEndpoint),
    fileCheckFrequencyMs: frequency > 0 ? frequency : DEFAULT_FILE_CHECK_MS,
    healthzPort: portOf(flags.get('healthz-port')) ?? document.healthzPort ?? DEFAULT_HEALTHZ_PORT,
    healthzBindAddress: nonEmpty(flags.get('healthz-bind-address'), document.healthzBindAddress) ?? '127.0.0.1',
    shutdownGracePeriodMs: goDurationMs(document.shutdownGracePeriod ?? '0') ?? 0,
    shutdownGracePeriodCriticalPodsMs: goDurationMs(document.shutdownGracePeriodCriticalPods ?? '0') ?? 0,
    shutdownGracePeriodByPodPriority: document.shutdownGracePeriodByPodPriority ?? [],
  };
}

/** What distinguishes this node's kubelet from others on the machine, such as those of nodes in containers. */
export interface KubeletScope {
  readonly kubeconfig?: string;
  /** Undefined as long as it is not known. */
  nodeName?: string;
}

/** This node's kubelet; or `none`; or `several` that cannot be told apart. */
type KubeletChoice<T> =
  | { readonly kind: 'kubelet'; readonly kubelet: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly kubelets: readonly T[] };

/** Chooses this node's kubelet: by kubeconfig, else by node name, else the only one, if it may be this node's. */
export function chooseKubelet<T extends Pick<KubeletFacts, 'kubeconfig' | 'hostnameOverride'>>(
  kubelets: readonly T[],
  { kubeconfig, nodeName }: KubeletScope,
): KubeletChoice<T> {
  const byKubeconfig = kubelets.filter((each) => kubeconfig !== undefined && each.kubeconfig === kubeconfig);
  const byName = kubelets.filter((each) => nodeName !== undefined && each.hostnameOverride === nodeName);
  const matching = byKubeconfig.length > 0 ? byKubeconfig : byName;
  const mayBeOurs = kubelets.some(({ hostnameOverride }) => nodeName === undefined || hostnameOverride === undefined);
  const left = matching.length > 0 || !mayBeOurs ? matching : kubelets;
  const [kubelet] = left;
  if (kubelet === undefined) return { kind: 'none' };
  return left.length > 1 ? { kind: 'several', kubelets: left } : { kind: 'kubelet', kubelet };
}

/** The static pod directory, with a warning if the configuration and the running kubelet disagree. */
interface StaticPodPath {
  readonly path: string;
  readonly warning?: string;
}

function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** Chooses the configured directory, else the kubelet's, else `fallback`. */
export function chooseStaticPodPath(
  configured: string | undefined,
  kubelet: KubeletFacts | undefined,
  fallback: string,
): StaticPodPath {
  const found = kubelet?.staticPodPath === undefined ? undefined : withoutLastSlashes(kubelet.staticPodPath);
  if (configured === undefined) return { path: found ?? fallback };
  if (kubelet === undefined || found === withoutLastSlashes(configured)) return { path: configured };
  const theirs = found === undefined ? 'takes no static pods from files' : `takes static pods from ${found}`;
  return {
    path: configured,
    warning: `the configuration has staticPodPath ${configured}, but the running kubelet (process ${kubelet.pid}) ${theirs}; the agent uses ${configured}, and the kubelet's pods are not drained: make the two the same, or leave the key out`,
  };
}
