import { counted } from '../../../decide/counted.ts';
import type { DrainView, LeavingPod, NodeView } from '../../../show/progress/drain-progress.ts';
import { deadlineAt } from '../../../decide/time.ts';
import { firstNames } from '../../../decide/name-list.ts';
import { causeOf } from '../../../show/progress/blocking-causes.ts';
import { causeText, keptText, requesterText, tierName, isUnrequested, podState } from './drain-text.ts';
import { printable } from '../../../printable.ts';

/** Turns each view of a maintenance into the lines that are new since the last one. */
interface DrainChanges {
  /** The lines that are new with this view, in the words of kubectl where it has any. */
  next(view: DrainView): readonly string[];
}

const MAX_NAMES = 20;

/** Whether a pod has no line of its own now. */
function isUntold(pod: LeavingPod): boolean {
  // What blocks it is told once for all its pods.
  if (causeOf(pod) !== undefined) return true;
  // The controller takes a request up within a second; where it does not, the maintenance has a note of its own.
  return (pod.progress.state === 'requested' || isUnrequested(pod)) && pod.blocking === undefined;
}

/** Makes the lines of what blocks a node: one where a cause comes, and one where it is over. */
function createCauseChanges(): (node: NodeView) => readonly string[] {
  const told = new Map<string, string>();
  return ({ name, causes }) => {
    const lines: string[] = [];
    const open = new Set<string>();
    for (const cause of causes) {
      const text = causeText(cause);
      // Without the number of its pods: else it would be told again for each pod that leaves.
      const key = `${name} ${cause.reason} ${text.replace(/^\d+ pods? \S+ /, '')}`;
      open.add(key);
      if (told.has(key)) continue;
      told.set(key, text);
      lines.push(`node/${name} ${text}: ${printable(firstNames(cause.pods, MAX_NAMES))}`);
    }
    for (const [key, text] of told) {
      if (open.has(key) || !key.startsWith(`${name} `)) continue;
      told.delete(key);
      lines.push(`node/${name} no longer: ${text}`);
    }
    return lines;
  };
}

/** Makes one that has written nothing yet. */
export function createDrainChanges(): DrainChanges {
  const last = new Map<string, string>();
  const causes = createCauseChanges();
  const pods = new Map<string, { readonly namespace: string; readonly name: string }>();

  const isNew = (key: string, text: string): boolean => {
    if (last.get(key) === text) return false;
    last.set(key, text);
    return true;
  };

  const ofNode = (node: NodeView): readonly string[] => {
    const lines: string[] = [];
    const say = (key: string, text: string): void => {
      if (isNew(`${node.name} ${key}`, text)) lines.push(`node/${node.name} ${text}`);
    };
    const left = new Set(node.tiers.flatMap((tier) => tier.pods.map(({ uid }) => uid)));
    const leftNow = [...pods].filter(([uid]) => !left.has(uid) && last.get(`node ${uid}`) === node.name);
    for (const [index, [uid, { namespace, name }]] of leftNow.entries()) {
      pods.delete(uid);
      const gone = node.gone - leftNow.length + index + 1;
      lines.push(`node/${node.name} pod/${name} evicted (namespace ${namespace}), ${gone}/${node.total} gone`);
    }
    for (const { entry, state, total, pods: leaving } of node.tiers) {
      const name = tierName(entry);
      // A tier that had no pods when this watch began is not told.
      if (state === 'waiting' || total === 0) continue;
      const count = counted(total, 'pod', 'pods');
      say(`tier ${name}`, state === 'done' ? `done: ${name}` : `evicting ${name}: ${count}`);
      if (state === 'done') continue;
      for (const pod of leaving) {
        pods.set(pod.uid, pod);
        last.set(`node ${pod.uid}`, node.name);
        if (isNew(`began ${pod.uid}`, '')) lines.push(`node/${node.name} evicting pod ${pod.namespace}/${pod.name}`);
        if (isUntold(pod)) continue;
        say(`pod ${pod.uid}`, `pod/${pod.name} (namespace ${pod.namespace}): ${podState(pod)}`);
      }
    }
    lines.push(...causes(node));
    if (node.escapedDaemonSets.length > 0)
      say('escaped', `DaemonSets that ignore the gate: ${node.escapedDaemonSets.join(', ')}`);
    const message = printable(node.message);
    // "Drained" is derived from the pods; other messages are those of the controller.
    if (!node.drained && message !== '' && message !== 'Evacuating' && message !== 'Drained') say('message', message);
    if (node.drained) say('drained', node.kept.length === 0 ? 'drained' : `drained, ${keptText(node.kept)}`);
    return lines;
  };

  return {
    next: (view) => {
      const reason = view.reason === '' ? '' : `: ${printable(view.reason)}`;
      const deadline = view.deadline === undefined ? '' : `, ${deadlineAt(view.deadline.at, view.deadline.isOver)}`;
      const head = `nodemaintenance/${view.maintenance} ${view.stage}${deadline}${requesterText(view)}${reason}`;
      return [...(isNew('head', head) ? [head] : []), ...view.nodes.flatMap(ofNode)];
    },
  };
}
