import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { KubeletScope } from '../decide/kubelet-config.ts';
import { type KubeletHome, serviceOf } from '../decide/kubelet-home.ts';
import { findKubeletProcess } from './kubelet-config.ts';

const RUNTIMES = new Set(['containerd', 'crio', 'cri-o', 'cri-dockerd', 'dockerd']);

async function readService(pid: string | number): Promise<string | undefined> {
  // A process that has ended meanwhile is in none.
  return serviceOf(await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''));
}

/** Where the kubelet of `scope` runs; undefined while none runs. */
export async function findKubeletHome(scope: KubeletScope, signal: AbortSignal): Promise<KubeletHome | undefined> {
  const kubelet = await findKubeletProcess(scope, signal);
  if (kubelet === undefined) return undefined;
  const unit = await readService(kubelet.pid);
  if (unit === undefined) return { unit, runtime: undefined };
  for (const pid of await readdir('/proc')) {
    signal.throwIfAborted();
    if (!/^\d+$/.test(pid)) continue;
    const [program = ''] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    const name = path.basename(program);
    if (RUNTIMES.has(name) && (await readService(pid)) === unit) return { unit, runtime: name };
  }
  return { unit, runtime: undefined };
}
