/** What a preview finds on the node itself. */
import { counted } from '../../decide/counted.ts';
import { isKept } from '../../decide/kept-pods/kept-pods.ts';
import { isInProgress, stageOf } from '../../decide/maintenance/maintenance.ts';
import { volumesOn } from '../../decide/volume/wait.ts';
import { drainPodOf, isTerminal } from '../../decide/pod.ts';
import { staticPodsStay } from '../../decide/presence/no-agent.ts';
import type { PreviewFacts } from './preview-facts.ts';
import type { Finding } from './finding.ts';

/** Static pods that nobody would end, because no agent lives on the node. */
function staticPodFindings({ node, pods, keep = [], now }: PreviewFacts): readonly Finding[] {
  const present = pods.filter((pod) => !isTerminal(pod) && !isKept(keep, drainPodOf(pod)));
  const stay = now === undefined ? undefined : staticPodsStay(node, present, now);
  return stay === undefined ? [] : [{ level: 'blocks', message: stay }];
}

function volumeFindings({ node }: PreviewFacts): readonly Finding[] {
  const volumes = volumesOn(node).length;
  if (volumes === 0) return [];
  const are = counted(volumes, 'volume is', 'volumes are');
  const message = `${are} attached to the node: it counts as drained when they are unmounted and detached`;
  return [{ level: 'note', message }];
}

/** What a preview says of the node itself, whatever pods leave it. */
export function nodeFindings(facts: PreviewFacts): readonly Finding[] {
  const { node, maintenances, pods, controlPlaneHarm } = facts;
  const findings: Finding[] = [];
  if (controlPlaneHarm !== undefined) findings.push({ level: 'blocks', message: controlPlaneHarm });
  findings.push(...staticPodFindings(facts));
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready !== undefined && ready.status !== 'True') {
    findings.push({
      level: 'blocks',
      message: 'the node is not Ready: it cannot be known whether its pods have ended',
    });
  }
  for (const maintenance of maintenances.filter(isInProgress)) {
    const message = `nodemaintenance/${maintenance.metadata.name} (${stageOf(maintenance)}) already covers this node`;
    findings.push({ level: 'note', message });
  }
  if (node.spec?.unschedulable === true && !maintenances.some(isInProgress)) {
    findings.push({ level: 'note', message: 'it was cordoned by a person and stays cordoned after a maintenance' });
  }
  findings.push(...volumeFindings(facts));
  const ended = pods.filter(isTerminal).length;
  if (ended > 0)
    findings.push({
      level: 'note',
      message: `${counted(ended, 'pod has', 'pods have')} already ended and will not be touched`,
    });
  return findings;
}
