import { COMPLETION_FINALIZER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { releasePod } from '../../controller/daemon-set/gate.ts';
import { counted } from '../../decide/counted.ts';
import { isGated } from '../../decide/daemon-set/gate.ts';
import { createSystemClock } from '../../host/clock.ts';
import { keyOf, NODE_MAINTENANCES, objectPath, PODS, type Resource } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { DryRun } from '../arguments/options.ts';
import { parseTime, usage } from '../arguments/parse.ts';
import { type AccessFlags, openUserCluster } from '../cluster/open-user-cluster.ts';
import { isConfirmed } from '../terminal/confirm.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { giveEverythingBack, listOf, type ReleaseContext } from './revert.ts';
import { removeRights } from './rights.ts';

const GATE = 'nodemaint-daemonset-gate';
/** The binding first: without it the policy does nothing. */
const GATE_RESOURCES = [
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'validatingadmissionpolicies',
].map((plural): Resource => ({ root: '/apis/admissionregistration.k8s.io/v1', plural, namespaced: false }));

const POLL_MS = 500;
/** API servers stop applying a deleted policy after about a second; when no pod was gated for this time, none will be. */
const QUIET_MS = 3_000;

/** Deletes the policy of the gate, so that no more pods are gated. */
async function removeGate({ client, say }: ReleaseContext, signal: AbortSignal): Promise<void> {
  for (const resource of GATE_RESOURCES) {
    const path = objectPath(resource, { name: GATE });
    const gone = await sendForObject(client, { method: 'DELETE', path }, [404], signal);
    if (gone !== undefined) say(`${resource.plural} ${GATE} is deleted.`);
  }
}

/** Deletes all NodeMaintenances and waits until they are completed and gone; returns those that are still there. */
async function endMaintenances(
  { client, clock, say }: ReleaseContext,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly NodeMaintenance[]> {
  const list = (): Promise<readonly NodeMaintenance[]> => listOf(client, NODE_MAINTENANCES, {}, signal);
  for (const { metadata } of await list()) {
    await sendForObject(client, { method: 'DELETE', path: objectPath(NODE_MAINTENANCES, metadata) }, [404], signal);
    say(`NodeMaintenance ${metadata.name} is being completed and deleted.`);
  }
  const until = clock.monotonic() + timeoutMs;
  let left = await list();
  while (left.length > 0 && clock.monotonic() < until) {
    await clock.sleep(POLL_MS, signal);
    left = await list();
  }
  return left;
}

/** Releases every gated pod, until there has been none for a while. */
async function releasePods({ client, clock, say }: ReleaseContext, signal: AbortSignal): Promise<void> {
  let quietSince = clock.monotonic();
  while (clock.monotonic() - quietSince < QUIET_MS) {
    const pods = await listOf<Pod>(client, PODS, { fieldSelector: 'spec.nodeName=' }, signal);
    for (const pod of pods.filter(isGated)) {
      await releasePod(client, pod, signal);
      say(`Pod ${keyOf(pod)} is released.`);
      quietSince = clock.monotonic();
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/** Does what the controller would do: removes its finalizer from the maintenances. */
async function releaseMaintenances(
  { client, say }: ReleaseContext,
  left: readonly NodeMaintenance[],
  signal: AbortSignal,
): Promise<void> {
  for (const { metadata } of left) {
    const finalizers = (metadata.finalizers ?? []).filter((name) => name !== COMPLETION_FINALIZER);
    const body = { metadata: { resourceVersion: metadata.resourceVersion, finalizers } };
    const path = objectPath(NODE_MAINTENANCES, metadata);
    await sendForObject(client, { method: 'PATCH', path, body, patch: { kind: 'merge' } }, [404], signal);
    say(`NodeMaintenance ${metadata.name} is deleted without its controller.`);
  }
}

/**
 * Ends everything that the product does to the pods and nodes of a cluster, so that it can be removed: the policy of the
 * gate, all maintenances, what is left of earlier ones, gated pods, and at last the rights, unless maintenances are left. The
 * controller completes the maintenances; where it does not within `timeoutMs` milliseconds, it is done here if `force` says so. Returns the names of the maintenances that are left.
 */
async function releaseCluster(
  context: ReleaseContext,
  options: { readonly timeoutMs: number; readonly force: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  await removeGate(context, signal);
  const left = await endMaintenances(context, options.timeoutMs, signal);
  if (options.force) await releaseMaintenances(context, left, signal);
  // Maintenances that are gone may have left something behind, where no controller was there to take it back.
  if (options.force || left.length === 0) await giveEverythingBack(context, signal);
  await releasePods(context, signal);
  if (options.force || left.length === 0) await removeRights(context, signal);
  return options.force ? [] : left.map(({ metadata }) => metadata.name);
}

/** The flags of `nodemaint uninstall-cluster`. */
export interface UninstallFlags extends AccessFlags {
  readonly timeout: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: DryRun | undefined;
}

/**
 * `nodemaint uninstall-cluster`: removes the DaemonSet gate, completes and deletes all maintenances, releases the gated
 * pods and takes the rights away, before the manifests are deleted. Returns the exit code: 0, or 3 where maintenances are left after the
 * timeout. Throws USAGE for a bad flag; KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function uninstallClusterCommand(flags: UninstallFlags, terminal: Terminal): Promise<number> {
  const timeoutMs = parseTime(flags.timeout, '--timeout');
  if (flags.yes !== true && flags.dryRun === undefined && !terminal.isTerminal) {
    throw usage('uninstall-cluster ends all maintenances of a cluster: write --yes, or look first with --dry-run');
  }
  const { access, client } = await openUserCluster(flags, 'nodemaint-uninstall');
  try {
    const say = (text: string): void => {
      terminal.write(`${text}\n`);
    };
    if (flags.yes !== true) {
      const found = await listOf<NodeMaintenance>(client, NODE_MAINTENANCES, {}, terminal.stop);
      const names = found.map(({ metadata, spec }) => `${metadata.name} (${spec.stage ?? 'Idle'})`);
      const count = counted(names.length, 'maintenance', 'maintenances');
      const what = names.length === 0 ? 'no maintenance' : `${count}: ${names.join(', ')}`;
      const [ends, removes] = flags.dryRun === undefined ? ['ends', 'removes'] : ['would end', 'remove'];
      say(
        `This ${ends} ${what}, and ${removes} the DaemonSet gate and the rights of controller and nodes, in the cluster ${access.server.origin}.`,
      );
      if (flags.dryRun !== undefined) return EXIT.done;
      if (!(await isConfirmed(terminal))) {
        terminal.warn('nodemaint: nothing was done\n');
        return EXIT.failed;
      }
    }
    const context = { client, clock: createSystemClock(), say };
    const left = await releaseCluster(context, { timeoutMs, force: flags.force === true }, terminal.stop);
    if (left.length > 0) {
      terminal.warn(
        `nodemaint: after ${flags.timeout} these maintenances are left: ${left.join(', ')}. The controller completes them; if it is gone for good, use --force.\n`,
      );
      return EXIT.timedOut;
    }
    say(
      'All maintenances are ended and all pods are released. Now delete the rest: kubectl delete -k manifests --ignore-not-found',
    );
    return EXIT.done;
  } finally {
    client.close();
  }
}
