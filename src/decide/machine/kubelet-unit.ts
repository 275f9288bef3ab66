/** The systemd unit in which the kubelet runs, and whether it can be stopped without the container runtime. */

/** Where the kubelet of this node runs. */
export interface KubeletHome {
  /** Undefined if it does not run in a service. */
  readonly unit: string | undefined;
  /** The container runtime that runs in the same unit, as in k3s, RKE2 and k0s; undefined if none does. */
  readonly runtime: string | undefined;
}

/** The unit that an offline drain stops first, or why there is none. */
export type KubeletUnitChoice =
  | { readonly kind: 'unit'; readonly unit: string }
  | { readonly kind: 'none'; readonly reason: string };

const USUAL_UNIT = 'kubelet.service';

/**
 * The service of a process, from the text of its /proc/PID/cgroup (cgroups(7)): from systemd's own hierarchy, else from the
 * unified one. Undefined if it runs in no service.
 */
export function serviceOf(text: string): string | undefined {
  const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const line = lines.find((match) => match?.[1] === 'name=systemd') ?? lines.find((match) => match?.[1] === '');
  return line?.[2]?.split('/').findLast((name) => /^[\w:.@\\-]+\.service$/.test(name));
}

/** Chooses the configured unit, else the one in which the kubelet runs, else the usual one. */
export function chooseKubeletUnit(configured: string | undefined, home: KubeletHome | undefined): KubeletUnitChoice {
  const unit = configured ?? home?.unit ?? USUAL_UNIT;
  if (unit === '') return { kind: 'none', reason: 'the key "kubeletUnit" is ""' };
  if (home?.unit !== unit || home.runtime === undefined) return { kind: 'unit', unit };
  return { kind: 'none', reason: `${unit} runs the kubelet and the container runtime (${home.runtime}) together` };
}

/**
 * The systemd unit of the container runtime behind a socket; undefined where it runs in the kubelet's own unit, as in k3s, RKE2, k0s
 * and MicroK8s, and where it is not known.
 */
export function runtimeUnitOf(endpoint: string): string | undefined {
  const found =
    /^(?:unix:(?:\/\/)?)?\/(?:var\/)?run\/(?:containerd\/(containerd)|crio\/(crio)|(cri-docker)d)\.sock$/.exec(
      endpoint,
    );
  const name = found?.slice(1).find((each) => each !== undefined);
  return name === undefined ? undefined : `${name}.service`;
}
