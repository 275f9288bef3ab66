/**
 * A pod of the demo: a real process that runs until SIGTERM and then needs some time to end, like an application that writes
 * its data to disk. It ends with the process that started it.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import process from 'node:process';
import type { Manifest } from '../static-pods/manifest/manifest.ts';

export type DemoPodState = 'running' | 'stopping' | 'ended';

/** A pod that was started. */
export interface DemoPod {
  readonly manifest: Manifest;
  /** The id of the pod sandbox in CRI. */
  readonly id: string;
  readonly containerId: string;
  /** The kubelet's UID: a hash of node, file and content. */
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  state(): DemoPodState;
  /** Sends SIGTERM, and SIGKILL `graceSec` seconds later; resolves when the process has ended. A second call can only shorten the time. */
  stop(graceSec: number): Promise<void>;
}

/** How long the application of a pod takes to end, in seconds. */
export const STOP_SECONDS_ANNOTATION = 'demo.nodemaint/stop-seconds';

const DEFAULT_STOP_SECONDS = 1.5;
const MAX_STOP_SECONDS = 3600;

/** Writes `ready`; ends some time after SIGTERM, or at once when its parent ends. Ctrl-C is left to the parent. */
const APPLICATION = `
process.on('SIGINT', () => {});
process.on('SIGTERM', () => setTimeout(() => process.exit(0), Number(process.argv[1]) * 1000));
process.stdin.on('close', () => process.exit(0)).resume();
process.stdout.write('ready');
`;

/** Starts the pod of a manifest in the folder `staticPodPath`. Resolves when its application runs or has ended. */
export async function startDemoPod(
  manifest: Manifest,
  { staticPodPath, nodeName }: { readonly staticPodPath: string; readonly nodeName: string },
): Promise<DemoPod> {
  const uid = createHash('sha256').update([nodeName, staticPodPath, manifest.file, manifest.sha256].join('\0'));
  const child = spawn(process.execPath, ['-e', APPLICATION, String(stopSeconds(manifest))], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
  });
  const createdAt = Date.now();
  const ended = once(child, 'exit');
  let state: DemoPodState = 'running';
  child.once('exit', () => {
    state = 'ended';
  });
  await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    manifest,
    id: randomBytes(32).toString('hex'),
    containerId: randomBytes(32).toString('hex'),
    uid: uid.digest('hex').slice(0, 32),
    createdAt,
    state: () => state,
    stop: async (graceSec) => {
      if (state === 'running') {
        state = 'stopping';
        child.kill('SIGTERM');
      }
      const killer = setTimeout(() => child.kill('SIGKILL'), graceSec * 1000);
      await ended;
      clearTimeout(killer);
    },
  };
}

function stopSeconds({ annotations }: Manifest): number {
  const seconds = Number(annotations[STOP_SECONDS_ANNOTATION] ?? DEFAULT_STOP_SECONDS);
  return seconds >= 0 && seconds <= MAX_STOP_SECONDS ? seconds : DEFAULT_STOP_SECONDS;
}
