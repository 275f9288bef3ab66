import type { ControllerRevision, DaemonSet } from '../../api/daemon-set.ts';
import { daemonSetOf } from '../../decide/daemon-set/gate.ts';
import { currentHash, decideRollout, hasSeveralTemplates } from '../../decide/daemon-set/rollout.ts';
import { deletePod } from '../../kube/eviction/evictor.ts';
import { SHOWN_MS } from '../../kube/eviction/ungated-daemon-sets.ts';
import { listAll } from '../../kube/list.ts';
import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import { collectionPath, CONTROLLER_REVISIONS, DAEMON_SETS, keyOf, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import type { DaemonSetGate } from './gate.ts';

/** The DaemonSet controller has not seen the last change of the template yet. */
const NOT_SEEN_MS = 1_000;

/**
 * Keeps rolling updates of DaemonSets going on the nodes that are not under maintenance: one step of one DaemonSet,
 * NAMESPACE/NAME, some of whose pods are gated. It replaces old pods where the DaemonSet controller would, within the
 * DaemonSet's own maxUnavailable, which gated pods do not use up.
 */
function createDaemonSetRollout(context: ControllerContext, gate: Pick<DaemonSetGate, 'holds'>): Reconcile {
  const { client, clock, log } = context;
  /** Pods that were deleted just now, by UID, with the monotonic time of it, until our copy shows it. */
  const deleted = new Map<string, number>();

  const read = async (
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly daemonSet: DaemonSet; readonly hash: string | undefined } | undefined> => {
    const path = objectPath(DAEMON_SETS, { namespace, name });
    const daemonSet = await sendForObject<DaemonSet>(client, { method: 'GET', path }, [404], signal);
    if (daemonSet === undefined) return undefined;
    const labels = Object.entries(daemonSet.spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
    const place = { path: collectionPath(CONTROLLER_REVISIONS, namespace), query: { labelSelector: labels.join(',') } };
    const revisions = await listAll<ControllerRevision>(client, place, (revision) => revision, signal);
    return { daemonSet, hash: currentHash(daemonSet, revisions.items) };
  };

  return async (key, signal) => {
    if (!gate.holds(key)) return {};
    const pods = context.pods.list().filter((pod) => daemonSetOf(pod) === key);
    if (!hasSeveralTemplates(pods)) return {};
    const [namespace = '', name = ''] = key.split('/');
    const rollout = await read(namespace, name, signal);
    if (rollout === undefined) return {};
    const { daemonSet, hash } = rollout;
    if (hash === undefined) return { againMs: NOT_SEEN_MS };
    const now = clock.now();
    for (const [uid, at] of deleted) if (clock.monotonic() - at > SHOWN_MS) deleted.delete(uid);
    const current = pods.map((pod) =>
      deleted.has(pod.metadata.uid ?? '') && pod.metadata.deletionTimestamp === undefined
        ? { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(now).toISOString() } }
        : pod,
    );
    const { replace, againMs } = decideRollout({ daemonSet, hash, pods: current }, now);
    for (const pod of replace) {
      await deletePod(client, pod, {}, signal);
      deleted.set(pod.metadata.uid ?? '', clock.monotonic());
      log.info({ pod: keyOf(pod), daemonSet: key }, 'replaced DaemonSet pod that a maintenance elsewhere held up');
    }
    return againMs === undefined ? {} : { againMs };
  };
}

/** The loop over DaemonSets some of whose pods are held. */
export function rolloutLoop(
  context: ControllerContext,
  gate: Pick<DaemonSetGate, 'holds' | 'rolloutOf'>,
): Loop<Changes> {
  return {
    name: 'daemonset-rollout',
    parallel: 1,
    reconcile: createDaemonSetRollout(context, gate),
    concerns: {
      Pod: ({ key }) => {
        const daemonSet = gate.rolloutOf(key);
        return daemonSet === undefined ? [] : [daemonSet];
      },
    },
  };
}
