/** The programs of the product, as they run in the process of the test. */
import { runController } from '../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../src/controller/options.ts';
import { createSystemClock } from '../../src/host/clock.ts';
import type { Running } from './actor.ts';
import type { PerturbationCluster } from './cluster.ts';

/** Short enough to be waited for, and long enough for a busy machine. */
const ELECTION = {
  leaderElect: 'true',
  leaderElectLeaseDuration: '4s',
  leaderElectRenewDeadline: '3s',
  leaderElectRetryPeriod: '500ms',
};

/** What differs from one controller to another; one that does not elect leads at once, and has no Lease. */
export interface ControllerFlags {
  readonly elects?: true;
  readonly lifecycleApi?: 'on';
}

/** Runs a controller. Its Lease is in the namespace of the plan, where only a cluster admin may write one. */
export async function runControllerOf(
  { connect }: PerturbationCluster,
  namespace: string,
  { elects, ...flags }: ControllerFlags,
  { client, log, asked, killed }: Running,
): Promise<void> {
  const options = controllerOptionsSchema.parse({
    namespace,
    leaderElect: 'false',
    ...flags,
    ...(elects === true ? ELECTION : {}),
  });
  const clients = { client: client(connect('controller')), leaseClient: client(connect('admin')) };
  await runController({ ...clients, clock: createSystemClock(), log, options }, AbortSignal.any([asked, killed]));
}
