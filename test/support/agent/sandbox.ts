import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { readAgentStatus, startNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { writeAgentFiles } from './files.ts';
import { waitFor } from '../wait-for.ts';

/** A folder with all that a standalone agent needs, which has neither kubelet nor runtime nor lock. */
export interface AgentSandbox {
  readonly root: string;
  readonly staticPodPath: string;
  readonly runDirectory: string;
  readonly configFile: string;
  writeConfig(extra?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Runs `body` with such a folder, which is gone afterwards. */
export async function inSandbox(body: (sandbox: AgentSandbox) => Promise<void>): Promise<void> {
  const root = await makeTestFolder('bad');
  const staticPodPath = path.join(root, 'manifests');
  const runDirectory = path.join(root, 'run');
  const configFile = path.join(root, 'config.yaml');
  await mkdir(staticPodPath);
  const writeConfig = async (extra: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    await writeAgentFiles(root, { nodeName: 'n', kubeletHealthz: undefined, ...extra });
  };
  await writeConfig();
  try {
    await body({ root, staticPodPath, runDirectory, configFile, writeConfig });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Runs `body` while an agent answers; returns what the agent logged. */
export async function withAgent(sandbox: AgentSandbox, body: () => Promise<void>): Promise<string> {
  const logFile = path.join(sandbox.root, 'agent.log');
  {
    await using agent = startNodemaint(['agent', '--config', sandbox.configFile], logFile);
    const answers = async (): Promise<boolean> => (await readAgentStatus(sandbox.runDirectory)).node === 'n';
    await waitFor('the agent answers', answers, { timeoutMs: 20_000, program: agent });
    await body();
  }
  return await readFile(logFile, 'utf8');
}
