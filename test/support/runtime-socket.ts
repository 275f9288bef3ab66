import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { type ContainerRuntime, createContainerRuntime } from '../../src/host/cri/runtime.ts';

/** A folder for the socket of a container runtime, until the test is over. */
export async function createSocketFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-cri-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** A client of the container runtime at the socket, until the test is over. */
export function openRuntime(t: TestContext, socketPath: string): ContainerRuntime {
  const runtime = createContainerRuntime(`unix://${socketPath}`);
  t.after(() => {
    runtime.close();
  });
  return runtime;
}
