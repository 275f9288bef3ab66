import type { StaticPodAction } from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from '../../host/cri/pod-stops.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { Durability } from '../../static-pods/mover.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StuckManifests } from './unmovable-manifests.ts';
import type { StaticPodStore, StaticPodView } from './view.ts';

interface StaticPodActionDependencies {
  readonly store: () => Pick<StaticPodStore, 'mover'>;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  readonly authorities?: () => readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Performs the actions in their order; returns whether all succeeded. An action that fails is logged once. */
type PerformActions = (
  actions: readonly StaticPodAction[],
  view: StaticPodView,
  shutdown: string | undefined,
  signal: AbortSignal,
) => Promise<boolean>;

/** Creates what moves manifests and stops pods; `stuck` receives which moves fail. */
export function createStaticPodActions(
  { store, bootId, runtime, authorities: readAuthorities, clock, log }: StaticPodActionDependencies,
  stuck: Pick<StuckManifests, 'failed' | 'moved'>,
): PerformActions {
  const stops = createSandboxStops(runtime, clock);

  const park = async (
    { file, leave }: Extract<StaticPodAction, { readonly kind: 'park' }>,
    view: StaticPodView,
    shutdown: string | undefined,
  ): Promise<void> => {
    const pod = view.inPlace.find((manifest) => manifest.file === file);
    const { maintenance, reason } = leave;
    const step = { op: 'park', file, sha256: pod?.sha256 ?? '', maintenance, at: clock.now(), bootId } as const;
    const authorities = readAuthorities?.();
    const why = {
      ...(maintenance === shutdown && { shutdown: true }),
      ...(authorities && { authorities: [...authorities] }),
    };
    // A person's maintenance can wait for the disk; a machine that goes down cannot.
    const durability: Durability = shutdown === undefined ? 'durable' : 'best-effort';
    await store().mover.park({ ...step, ...why, ...(pod && { pod }) }, durability);
    stuck.moved(file);
    log.info({ manifest: file, maintenance, reason }, 'parked manifest');
  };

  const perform = async (
    action: StaticPodAction,
    view: StaticPodView,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    const { file } = action;
    if (action.kind === 'park') {
      await park(action, view, shutdown);
    } else if (action.kind === 'restore') {
      const outcome = await store().mover.restore(file);
      log.info({ manifest: file, outcome }, 'restored manifest');
    } else {
      const { sandboxId, graceSec } = action;
      stops.begin(sandboxId, graceSec, stopInPlaceOfKubelet(log, { manifest: file }, sandboxId, graceSec), signal);
    }
  };

  return async (actions, view, shutdown, signal) => {
    let isDone = true;
    for (const action of actions) {
      try {
        await perform(action, view, shutdown, signal);
      } catch (error) {
        // One manifest that cannot be moved must not keep the others.
        signal.throwIfAborted();
        isDone = false;
        const reason = describeError(error);
        const isNews = stuck.failed(action.file, reason);
        if (isNews) log.error({ manifest: action.file, action: action.kind, reason }, 'static pod action failed');
      }
    }
    return isDone;
  };
}
