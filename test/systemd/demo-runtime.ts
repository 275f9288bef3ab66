/** A container runtime in a container with systemd: without an answer of a runtime, nothing leaves the node. */
import { STOP_SECONDS_ANNOTATION } from '../support/stand-ins/static-pod-runtime.ts';
import { CHECKOUT, NODE, type SystemContainer } from './container.ts';

const SOCKET = '/run/containerd/containerd.sock';

/** The manifest of a pod that does not end while the machine drains. */
export const ENDLESS_POD = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', annotations: { [STOP_SECONDS_ANNOTATION]: '3600' } },
  spec: { terminationGracePeriodSeconds: 3600 },
});

const runtimeOf = (staticPodPath: string): string => `const { hostname } = await import("node:os");
const { startStaticPodRuntime } = await import("${CHECKOUT}/test/support/stand-ins/static-pod-runtime.ts");
await startStaticPodRuntime({ staticPodPath: "${staticPodPath}", socketPath: "${SOCKET}", nodeName: hostname() }, new AbortController().signal);`;

/** Starts a runtime as a unit of that name, which runs the pods of the folder; it takes the place of one that was stopped. */
export async function startDemoRuntimeUnit(container: SystemContainer, unit: string, pods: string): Promise<void> {
  await container.must(
    `mkdir -p /run/containerd ${pods} && rm -f ${SOCKET} && systemd-run --quiet --unit=${unit} ${NODE} --input-type=module -e '${runtimeOf(pods)}'`,
  );
  await container.must(`until test -S ${SOCKET}; do sleep 0.2; done`);
}
