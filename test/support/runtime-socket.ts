import type { TestContext } from 'node:test';
import { type ContainerRuntime, createContainerRuntime } from '../../src/host/cri/runtime.ts';

/** A client of the container runtime at the socket, until the test is over. */
export function openRuntime(t: TestContext, socketPath: string): ContainerRuntime {
  const runtime = createContainerRuntime(`unix://${socketPath}`);
  t.after(() => runtime.close());
  return runtime;
}
