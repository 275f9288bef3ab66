import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';
import { runService, type ServiceFlags } from '../../kube/service/service.ts';
import type { Format } from './decide/template.ts';
import { runNotify } from './notify.ts';

export interface NotifyFlags extends ServiceFlags {
  /** A folder. */
  readonly secret: string;
  readonly format: Format;
  readonly clusterName: string;
  /** A duration. */
  readonly blockedAfter: string;
}

const MAX_CLUSTER = 64;

/** `nodemaint notify`: tells people of drains until the signal is aborted. Throws USAGE for an invalid flag or Secret. */
export async function notifyCommand(flags: NotifyFlags, signal: AbortSignal): Promise<void> {
  const blockedAfterMs = parseDuration(flags.blockedAfter);
  if (blockedAfterMs === undefined) throw new NodemaintError('USAGE', `--blocked-after: ${DURATION_HINT}`);
  if (flags.clusterName.length > MAX_CLUSTER) {
    throw new NodemaintError('USAGE', `--cluster-name: at most ${MAX_CLUSTER} characters`);
  }
  const options = { secretFolder: flags.secret, format: flags.format, cluster: flags.clusterName, blockedAfterMs };
  await runService('nodemaint-notify', flags, (dependencies) => runNotify(dependencies, options, signal));
}
