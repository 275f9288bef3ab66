/** In which unit of systemd the kubelet runs, and whether it can be stopped there without the container runtime. */

/** Where the kubelet of this node runs. */
export interface KubeletHome {
  /** Absent where it runs in no service. */
  readonly unit: string | undefined;
  /** The program of the container runtime that lives in the same unit, as in k3s, RKE2 and k0s. */
  readonly runtime: string | undefined;
}

/** The unit that a drain over the container runtime stops first, or why there is none. */
export type KubeletUnitChoice =
  | { readonly kind: 'unit'; readonly unit: string }
  | { readonly kind: 'none'; readonly reason: string };

const USUAL_UNIT = 'kubelet.service';

/**
 * The service of a process, from the text of its /proc/PID/cgroup (cgroups(7)): of systemd's own hierarchy, else of the
 * unified one.
 */
export function serviceOf(text: string): string | undefined {
  const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const line = lines.find((match) => match?.[1] === 'name=systemd') ?? lines.find((match) => match?.[1] === '');
  return line?.[2]?.split('/').findLast((name) => /^[\w:.@\\-]+\.service$/.test(name));
}

/** The configured unit, else the one in which the kubelet is seen, else the usual one. */
export function chooseKubeletUnit(configured: string | undefined, home: KubeletHome | undefined): KubeletUnitChoice {
  const unit = configured ?? home?.unit ?? USUAL_UNIT;
  if (unit === '') return { kind: 'none', reason: 'the key "kubeletUnit" is ""' };
  if (home?.unit !== unit || home.runtime === undefined) return { kind: 'unit', unit };
  return { kind: 'none', reason: `${unit} runs the kubelet and the container runtime (${home.runtime}) together` };
}
