/** The kubelet of this node: which process it is, how it is configured, and in which unit it runs. */
import path from 'node:path';
import { chooseKubelet, type KubeletFacts, type KubeletScope } from '../../decide/machine/kubelet-config.ts';
import { type KubeletHome, serviceOf } from '../../decide/machine/kubelet-unit.ts';
import type { KubeletService, RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import { NodemaintError } from '../../errors.ts';
import { type KubeletFiles, readKubelet } from './config.ts';
import { findKubeletProcesses, type KubeletProcess } from './processes.ts';
import { listProcesses, readCgroupText, readCommandLine } from '../process-facts.ts';
import type { Systemd } from '../systemd/systemd1.ts';

/** The units in which kubelets are usually found. */
const USUAL_UNITS = [
  'kubelet.service',
  'k3s.service',
  'k3s-agent.service',
  'rke2-server.service',
  'rke2-agent.service',
  'k0scontroller.service',
  'k0sworker.service',
  'snap.kubelet*.service',
];
const RUNTIMES = new Set(['containerd', 'crio', 'cri-o', 'cri-dockerd', 'dockerd']);
/** A bus that does not answer must not hold up a drain; the processes are then judged by themselves. */
const BUS_TIMEOUT_MS = 2_000;

/** What a finder needs. */
export interface KubeletFinderOptions {
  readonly scope: KubeletScope;
  /** Says which units run; absent where there is no systemd. */
  readonly systemd: Pick<Systemd, 'services'> | undefined;
  /** The unit that the configuration names; undefined or '' stands for the usual ones. */
  readonly unit: string | undefined;
  /** Told of each process that calls itself a kubelet and is not believed, at each look. */
  readonly onRefused?: (refused: readonly RefusedKubelet[]) => void;
}

/**
 * Looks anew each time: the kubelet may be restarted with another configuration. Errors of all: KUBELET_AMBIGUOUS where
 * several processes may be it.
 */
export interface KubeletFinder {
  /** Its effective configuration; undefined while none runs. Throws CONFIG_INVALID too, for its files. */
  readonly config: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
  /** Where it runs; undefined while none runs. */
  readonly home: (signal: AbortSignal) => Promise<KubeletHome | undefined>;
}

function flagsAsFacts(process: KubeletProcess) {
  const of = (name: string): string | undefined => process.flags.get(name) || undefined;
  return { process, kubeconfig: of('kubeconfig'), hostnameOverride: of('hostname-override') };
}

/** Makes a finder of this node's kubelet. */
export function createKubeletFinder({ scope, systemd, unit, onRefused }: KubeletFinderOptions): KubeletFinder {
  const files: KubeletFiles = { read: new Map() };
  const readServices = async (signal: AbortSignal): Promise<readonly KubeletService[]> => {
    const patterns = unit === undefined || unit === '' ? USUAL_UNITS : [unit];
    try {
      return (await systemd?.services(patterns, BUS_TIMEOUT_MS, signal)) ?? [];
    } catch {
      signal.throwIfAborted();
      return [];
    }
  };

  const find = async (signal: AbortSignal): Promise<KubeletProcess | undefined> => {
    const { trusted, refused } = await findKubeletProcesses(await readServices(signal), signal);
    onRefused?.(refused);
    // Files are read for the one that counts only: another's may be broken.
    const choice = chooseKubelet(trusted.map(flagsAsFacts), scope);
    if (choice.kind !== 'several') return choice.kind === 'none' ? undefined : choice.kubelet.process;
    const pids = choice.kubelets.map(({ process }) => process.pid).join(' and ');
    const fix = 'set the key "kubeletUnit" to the unit of the right one, or stop the other';
    const message = `the processes ${pids} may each be the kubelet of this node, and none is believed; ${fix}`;
    throw new NodemaintError('KUBELET_AMBIGUOUS', message);
  };

  return {
    config: async (signal) => {
      const found = await find(signal);
      return found === undefined ? undefined : await readKubelet(found, files, signal);
    },
    home: async (signal) => {
      const kubelet = await find(signal);
      if (kubelet === undefined) return undefined;
      const home = serviceOf(kubelet.cgroupText);
      if (home === undefined) return { unit: home, runtime: undefined };
      for (const pid of await listProcesses()) {
        signal.throwIfAborted();
        const name = path.basename((await readCommandLine(pid))[0] ?? '');
        if (RUNTIMES.has(name) && serviceOf(await readCgroupText(pid)) === home) return { unit: home, runtime: name };
      }
      return { unit: home, runtime: undefined };
    },
  };
}
