/** Finds the kubelet of this node: its process, its configuration, and the unit in which it runs. */
import path from 'node:path';
import { chooseKubelet, type KubeletFacts, type KubeletScope } from '../../decide/machine/kubelet-config.ts';
import { type KubeletHome, serviceOf } from '../../decide/machine/kubelet-unit.ts';
import type { KubeletService, RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import { NodemaintError } from '../../errors.ts';
import { configurationFiles, readKubelet } from './config.ts';
import { findKubeletProcesses, type KubeletProcess } from './processes.ts';
import { readCgroupText, readCommandLine, readEachProcess } from '../process-facts.ts';
import type { Systemd } from '../systemd/manager.ts';

/** The units in which kubelets usually run; patterns of the shell are among them. */
const USUAL_UNITS: readonly string[] = [
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
/** A bus that does not answer in this time must not delay a drain; processes are then judged without their units. */
const BUS_TIMEOUT_MS = 2_000;

/** The dependencies and options of a finder. */
interface KubeletFinderOptions {
  readonly scope: KubeletScope;
  /** Lists the running units; undefined on machines without systemd. */
  readonly systemd: Pick<Systemd, 'services'> | undefined;
  /** The configured unit; undefined or '' means the usual units. */
  readonly unit: string | undefined;
  /** Called at each search with the processes that call themselves a kubelet and are not trusted. */
  readonly onRefused?: (refused: readonly RefusedKubelet[]) => void;
}

/**
 * Searches again at each call, because the kubelet may be restarted with another configuration. Errors of all methods:
 * KUBELET_AMBIGUOUS if several processes may be the kubelet.
 */
export interface KubeletFinder {
  /** The kubelet's effective configuration; undefined while none runs. Also throws CONFIG_INVALID, for its files. */
  readonly config: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
  /** The unit in which the kubelet runs; undefined while none runs. */
  readonly home: (signal: AbortSignal) => Promise<KubeletHome | undefined>;
  /** What the kubelet was started with, and the files of its configuration, unread; undefined while none runs. */
  readonly source: (signal: AbortSignal) => Promise<KubeletSource | undefined>;
}

/** Where the configuration of a running kubelet comes from. */
interface KubeletSource {
  readonly pid: number;
  readonly argv: readonly string[];
  /** The configuration file, where it has one, and the drop-ins in the order in which they apply. */
  readonly files: readonly string[];
}

function flagsAsFacts(process: KubeletProcess) {
  const of = (name: string): string | undefined => process.flags.get(name) || undefined;
  return { process, kubeconfig: of('kubeconfig'), hostnameOverride: of('hostname-override') };
}

export function createKubeletFinder({ scope, systemd, unit, onRefused }: KubeletFinderOptions): KubeletFinder {
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
    // Only the files of the chosen kubelet are read: those of another one may be broken.
    const choice = chooseKubelet(trusted.map(flagsAsFacts), scope);
    if (choice.kind !== 'several') return choice.kind === 'none' ? undefined : choice.kubelet.process;
    const pids = choice.kubelets.map(({ process }) => process.pid).join(' and ');
    const fix = 'set the key "kubeletUnit" to the unit of the right one, or stop the other';
    const message = `the processes ${pids} may each be the kubelet of this node, and none is trusted; ${fix}`;
    throw new NodemaintError('KUBELET_AMBIGUOUS', message);
  };

  return {
    config: async (signal) => {
      const found = await find(signal);
      return found === undefined ? undefined : await readKubelet(found, signal);
    },
    source: async (signal) => {
      const found = await find(signal);
      if (found === undefined) return undefined;
      const { pid, flags } = found;
      return { pid, argv: await readCommandLine(pid), files: await configurationFiles(flags, signal) };
    },
    home: async (signal) => {
      const kubelet = await find(signal);
      if (kubelet === undefined) return undefined;
      const home = serviceOf(kubelet.cgroupText);
      if (home === undefined) return { unit: home, runtime: undefined };
      const [runtime] = await readEachProcess(async (pid) => {
        const name = path.basename((await readCommandLine(pid))[0] ?? '');
        return RUNTIMES.has(name) && serviceOf(await readCgroupText(pid)) === home ? name : undefined;
      }, signal);
      return { unit: home, runtime };
    },
  };
}
