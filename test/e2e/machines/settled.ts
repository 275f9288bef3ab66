/** Whether machines are as before a shutdown: nothing is cordoned, no maintenance is open, and every pod is back. */
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import type { Timeline } from '../../chaos/timeline.ts';
import { isServing, type WholePod } from './history.ts';
import { BUDGETS, REPLICAS, STATIC_PODS } from './workload.ts';

/** The pods of the DaemonSets and the static pods of each machine. */
const OWN_PODS = Object.keys(STATIC_PODS).length + 2;
const CONTROLLER_LABEL = 'app.kubernetes.io/name';

/** Whether the pod is one of the controller's replicas. */
export function isController({ metadata }: WholePod): boolean {
  return metadata.labels?.[CONTROLLER_LABEL] === 'nodemaint-controller';
}

function isOpenOn(names: readonly string[], { spec }: NodeMaintenance): boolean {
  const selector = JSON.stringify(spec.nodeSelector);
  return spec.stage !== 'Complete' && names.some((name) => selector.includes(`"${name}"`));
}

function isFree(names: readonly string[], nodes: readonly Node[]): boolean {
  const free = nodes.filter(({ metadata, spec }) => names.includes(metadata.name) && spec?.unschedulable !== true);
  return free.length === names.length;
}

/** What keeps these machines from being settled, for a person; empty where nothing does. */
export function unsettledOn(names: readonly string[], timeline: Timeline): readonly string[] {
  const pods = timeline.list('Pod') as readonly WholePod[];
  const serving = pods.filter((pod) => isServing(pod) && names.includes(pod.spec.nodeName ?? ''));
  const isOwn = ({ metadata }: WholePod): boolean =>
    metadata.ownerReferences?.some(({ kind }) => kind === 'Node' || kind === 'DaemonSet') === true;
  const lacking = names.filter(
    (name) => serving.filter((pod) => pod.spec.nodeName === name && isOwn(pod)).length !== OWN_PODS,
  );
  const apps = Object.keys(BUDGETS).filter(
    (app) => serving.filter(({ metadata }) => metadata.labels?.['app'] === app).length !== REPLICAS,
  );
  // Pods of DaemonSets for a machine that stays away have no node.
  const isHere = (pod: WholePod): boolean =>
    pod.spec.nodeName === undefined ? !isOwn(pod) : names.includes(pod.spec.nodeName);
  const others = pods.filter((pod) => !isServing(pod) && isHere(pod));
  return [
    ...lacking.map((name) => `${name} lacks pods of its own`),
    ...apps.map((app) => `${app} lacks replicas`),
    ...(serving.filter(isController).length === REPLICAS ? [] : ['the controller lacks replicas']),
    ...others.map(({ metadata }) => `${metadata.name} does not serve`),
    ...(isFree(names, timeline.list('Node')) ? [] : ['a machine is cordoned']),
    ...timeline
      .list('NodeMaintenance')
      .filter((each) => isOpenOn(names, each))
      .map(({ metadata }) => `${metadata.name} is open`),
  ];
}
