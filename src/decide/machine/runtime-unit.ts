/**
 * The systemd unit of the container runtime behind a socket; undefined where it runs in the kubelet's own unit, as in k3s, RKE2, k0s
 * and MicroK8s, and where it is not known.
 */
export function runtimeUnitOf(endpoint: string): string | undefined {
  const found =
    /^(?:unix:(?:\/\/)?)?\/(?:var\/)?run\/(?:containerd\/(containerd)|crio\/(crio)|(cri-docker)erd)\.sock$/.exec(
      endpoint,
    );
  const name = found?.slice(1).find((each) => each !== undefined);
  return name === undefined ? undefined : `${name}.service`;
}
