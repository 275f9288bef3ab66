/** What is judged of a plan: the invariants of the chaos test, what is left, and that nobody goes on writing. */
import { DRAIN_REQUESTER, type LifecycleRequest } from '../../src/api/lifecycle.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import { AGENT_STATUS_ANNOTATION, OWN_LABEL_PREFIX } from '../../src/api/names.ts';
import { LIFECYCLE_REQUESTS } from '../../src/kube/lifecycle/resources.ts';
import { collectionPath } from '../../src/kube/resource.ts';
import { CONTROLLER_USER } from '../chaos/cluster.ts';
import { checkForeign } from '../chaos/invariants/foreign.ts';
import { checkLeftOvers } from '../chaos/invariants/given-back.ts';
import { checkLeaving } from '../chaos/invariants/leaving.ts';
import { checkManifests } from '../chaos/invariants/manifests.ts';
import { signatureOf, type Violation } from '../chaos/invariants/violation.ts';
import { shutdownPrefix } from '../chaos/world.ts';
import type { PerturbationCluster } from './cluster.ts';
import { type Stage, untilStill } from './stage.ts';
import { repeatedWrite } from './trace.ts';

/** Something that should not be; two with the same words count as the same. */
export interface Find {
  readonly what: string;
  readonly detail: string;
}

function findOf(violation: Violation): Find {
  return { what: signatureOf(violation), detail: violation.detail };
}

function keptKeys(kind: string, { metadata }: KubeObject): readonly Find[] {
  const keys = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
  // An agent tells its state on its node for as long as it runs.
  const own = keys.filter((key) => key.startsWith(OWN_LABEL_PREFIX) && key !== AGENT_STATUS_ANNOTATION);
  return own.map((key) => ({ what: `given-back: a ${kind} keeps ${key}`, detail: metadata.name }));
}

/** What is left of the product when all maintenances are complete. */
export async function leftOf({ part, read }: Stage): Promise<readonly Find[]> {
  const [namespace] = part.namespaces;
  const { items = [] } = (await read(collectionPath(LIFECYCLE_REQUESTS, namespace))) as {
    readonly items?: readonly LifecycleRequest[];
  };
  const newer = items.filter(({ spec }) => spec.requester === DRAIN_REQUESTER);
  return [
    ...checkLeftOvers(part, false).map(findOf),
    ...part.nodes().flatMap((node) => keptKeys('node', node)),
    ...part.pods().flatMap((pod) => keptKeys('pod', pod)),
    ...newer.map(({ metadata }) => ({
      what: 'given-back: a request of lifecycle.k8s.io is left',
      detail: metadata.name,
    })),
  ];
}

/** What is wrong with static pods until the machine boots: after that they come back by what the machine knows itself. */
function checkMachine({ part, machine }: Stage): readonly Find[] {
  if (machine === undefined) return [];
  const moves = machine.moves.filter(({ at }) => at < machine.bootedAt());
  return checkManifests(part.changes, moves, machine.nodeName).map(findOf);
}

/** Judges a plan that was played to its end: nothing must be written any more for `stillMs`. */
export async function judge(cluster: PerturbationCluster, stage: Stage, stillMs: number): Promise<readonly Find[]> {
  const { part, actors, machine } = stage;
  const who = await untilStill(stage, stillMs);
  const writes = (await cluster.writes.read()).filter(
    ({ key }) => key.startsWith(part.id) || key.startsWith(shutdownPrefix(part.id)),
  );
  const users = [CONTROLLER_USER, ...(machine === undefined ? [] : [`system:node:${machine.nodeName}`])];
  const found: Find[] = [
    ...checkLeaving(part.changes, writes, users).map(findOf),
    ...checkForeign(part.changes, writes, users).map(findOf),
    ...checkMachine(stage),
    ...(await leftOf(stage)),
  ];
  if (who !== undefined) found.push({ what: 'stable: somebody goes on writing when everything is over', detail: who });
  for (const { name, trace, failure } of actors) {
    const detail = failure();
    if (detail !== undefined) found.push({ what: `ended: ${name} ended by itself`, detail });
    const repeated = repeatedWrite(trace);
    if (repeated === undefined) continue;
    found.push({ what: 'stable: a write is repeated again and again', detail: `${name} ${repeated.what}` });
  }
  return found;
}
