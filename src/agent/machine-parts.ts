import type { AgentConfig } from '../config/schema.ts';
import type { KubeletScope } from '../decide/machine/kubelet-config.ts';
import { chooseKubeletUnit } from '../decide/machine/kubelet-unit.ts';
import { type Clock, monotonicNow } from '../host/clock.ts';
import { type ContainerRuntime, createContainerRuntime } from '../host/cri/runtime.ts';
import { createSystemBus, type SystemBus } from '../host/dbus/bus.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import { createKubeletFinder, type KubeletFinder } from '../host/kubelet/finder.ts';
import { createKubeletUnit, type KubeletUnit } from '../host/kubelet/unit.ts';
import { createLogin1 } from '../host/systemd/login1.ts';
import { SCHEDULED_FILE, watchScheduledFile } from '../host/systemd/scheduled-file.ts';
import { createSystemd } from '../host/systemd/systemd1.ts';
import type { Log } from '../telemetry/log.ts';
import type { Host } from './shutdown/lock-kind.ts';
import { createKubeletRefusals } from './static-pods/kubelet-refusals.ts';

/** The machine as the agent reaches it. */
export interface MachineAccess {
  /** Undefined where the configuration has no lock: then neither logind nor systemd is asked. */
  readonly bus: SystemBus | undefined;
  readonly host: Host | undefined;
  readonly kubelets: KubeletFinder;
  readonly runtime: ContainerRuntime;
}

interface MachineOptions {
  readonly config: AgentConfig;
  /** What is known of this node's kubelet. */
  readonly scope: KubeletScope;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reaches the machine until `living` is aborted; changes nothing there. */
export function openMachine({ config, scope, clock, log }: MachineOptions, living: AbortSignal): MachineAccess {
  const bus = config.lock === 'none' ? undefined : createSystemBus({ log, clock }, living);
  const host = bus === undefined ? undefined : { login1: createLogin1(bus), systemd: createSystemd(bus) };
  const kubelets = createKubeletFinder({
    scope,
    systemd: host?.systemd,
    unit: config.kubeletUnit,
    onRefused: createKubeletRefusals(log, monotonicNow).tell,
  });
  return { bus, host, kubelets, runtime: createContainerRuntime(config.containerRuntimeEndpoint) };
}

/** Calls `wake` at every sign of a shutdown until `living` is aborted: signals of logind, its schedule, a bus that is back. */
export function watchMachine({ bus, host }: MachineAccess, wake: () => void, log: Log, living: AbortSignal): void {
  if (bus === undefined || host === undefined) return;
  host.login1.onPrepareForShutdown(wake);
  host.login1.onScheduleChange(wake);
  bus.onReconnect(wake);
  watchScheduledFile(SCHEDULED_FILE, wake, log, living);
}

/** The unit of the kubelet; undefined where systemd is not asked for anything. */
export function kubeletUnitOf(
  { host, kubelets }: MachineAccess,
  config: AgentConfig,
  state: StateFiles,
  bootId: string,
): KubeletUnit | undefined {
  if (host === undefined) return undefined;
  return createKubeletUnit(host.systemd, {
    choose: async (signal) => chooseKubeletUnit(config.kubeletUnit, await kubelets.home(signal)),
    state,
    bootId,
  });
}
