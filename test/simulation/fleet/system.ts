/** logind and systemd of a machine in a fleet: a shutdown has a kind, or none that anybody knows, and can be called off. */
import type { Host } from '../../../src/agent/shutdown/inhibitor-lock.ts';
import type { ShutdownKind } from '../../../src/decide/shutdown/kind.ts';
import { NodemaintError } from '../../../src/errors.ts';
import type { ShutdownLock } from '../../../src/host/systemd/inhibitor-unit.ts';
import type { Login1 } from '../../../src/host/systemd/logind.ts';
import type { Systemd } from '../../../src/host/systemd/manager.ts';
import type { AgentSystem } from '../machine/agent.ts';

/** A shutdown that logind prepares. */
export interface Prepared {
  /** Undefined where nobody knows whether the machine comes back. */
  readonly kind: ShutdownKind | undefined;
}

/** What systemd tells of a machine, and what it does to its kubelet. */
interface SystemState {
  prepared(): Prepared | undefined;
  isKubeletUp(): boolean;
  setKubelet(isUp: boolean): void;
  /** The agent has let the machine go. */
  onRelease(): void;
}

const unasked = (): never => {
  throw new NodemaintError('DBUS_CALL_FAILED', 'a simulated machine is not asked for this');
};

/** The host as the agent asks it; `listeners` hear of the beginning of a shutdown. */
export function hostOf(state: SystemState, listeners: Set<() => void>): Host {
  const host: { login1: Pick<Login1, keyof Login1>; systemd: Pick<Systemd, keyof Systemd> } = {
    login1: {
      onPrepareForShutdown: (listener) => {
        listeners.add(() => listener(true));
      },
      onScheduleChange: () => undefined,
      processId: () => Promise.resolve(1),
      request: unasked,
      cancelScheduled: unasked,
      preparingForShutdown: () => Promise.resolve(state.prepared() !== undefined),
      scheduledShutdown: () => Promise.resolve(null),
      inhibitDelayMaxMs: unasked,
      listInhibitors: () => Promise.resolve([]),
      shutdownRequester: () => {
        const kind = state.prepared()?.kind;
        return Promise.resolve(kind === undefined ? {} : { kind });
      },
    },
    systemd: {
      systemState: () => Promise.resolve('running'),
      isGoingDown: () => Promise.resolve(false),
      queuedShutdown: () => Promise.resolve(undefined),
      softReboots: () => Promise.resolve(undefined),
      unitProperty: unasked,
      services: unasked,
      startUnit: () => {
        state.setKubelet(true);
        return Promise.resolve();
      },
      restartUnit: () => Promise.resolve(),
      stopUnit: () => {
        state.setKubelet(false);
        return Promise.resolve();
      },
      endUnit: unasked,
      goDown: unasked,
      unitActiveState: () => Promise.resolve(state.isKubeletUp() ? 'active' : 'inactive'),
    },
  };
  return host as Host;
}

/** The lock that the agent holds; the machine goes down when it is released while a shutdown is prepared. */
export function lockOf({ onRelease }: SystemState): ShutdownLock {
  return {
    acquire: () => Promise.resolve(true),
    release: () => {
      onRelease();
      return Promise.resolve();
    },
    heartbeat: () => Promise.resolve(),
  };
}

/** What the agent has of its machine. */
export function systemOf(
  state: SystemState,
  listeners: Set<() => void>,
  { isOneUnit, onAgent }: { readonly isOneUnit: boolean } & Pick<AgentSystem, 'onAgent'>,
): AgentSystem {
  return {
    host: hostOf(state, listeners),
    lock: lockOf(state),
    kubeletHome: isOneUnit
      ? { unit: 'k3s.service', runtime: 'containerd' }
      : { unit: 'kubelet.service', runtime: undefined },
    isKubeletUp: () => state.isKubeletUp(),
    onAgent,
  };
}
