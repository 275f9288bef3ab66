/** `nodemaint evict --in-spite-of-budget`: deletes pods that PodDisruptionBudgets hold, after asking the person. */
import { randomBytes } from 'node:crypto';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { decideOverride, overrideQuestion } from '../../decide/disruption-budget/override.ts';
import { graceSecOf } from '../../decide/pod.ts';
import { rfc3339 } from '../../decide/time.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { createRequesterClient } from '../../kube/eviction/requester.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, DISRUPTION_BUDGETS, EVENTS, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import { printable } from '../../printable.ts';
import { ownName } from '../cluster/own-name.ts';
import { isConfirmed } from '../terminal/confirm.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { EvictOptions } from './options.ts';

/** Who asks, why, and in which namespace. */
interface OverrideScope {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly options: EvictOptions;
  readonly terminal: Terminal;
  /** The user, as the API server knows it. */
  readonly user: string;
}

type Outcome = 'done' | 'failed';

/** Says on the pod, for its owner, who deleted it and why. Where the person may not write Events, that is said and nothing else. */
async function recordEvent(scope: OverrideScope, pod: Pod, budgets: readonly string[]): Promise<void> {
  const { client, namespace, options, terminal, user } = scope;
  const at = rfc3339(Date.now());
  const why = options.reason === undefined ? '' : `: ${options.reason}`;
  const { name, uid } = pod.metadata;
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `nodemaint-${randomBytes(8).toString('hex')}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
    type: 'Warning',
    reason: 'DeletedInSpiteOfBudget',
    message: `${user} deleted the pod in spite of PodDisruptionBudget ${budgets.join(', ')}${why}`.slice(0, 1024),
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: 'nodemaint' },
    reportingComponent: 'nodemaint',
  };
  try {
    await sendForObject(client, { method: 'POST', path: collectionPath(EVENTS, namespace), body }, [], terminal.stop);
  } catch (error) {
    terminal.warn(`warning: no Event tells of it: ${printable(describeError(error))}\n`);
  }
}

async function remove(scope: OverrideScope, pod: Pod, budgets: readonly string[]): Promise<Outcome> {
  const { client, namespace, options, terminal } = scope;
  const { name, uid } = pod.metadata;
  const isDry = options.dryRun !== undefined;
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid },
    ...(isDry ? { dryRun: ['All'] } : {}),
  };
  const request = { method: 'DELETE', path: objectPath(PODS, { name, namespace }), body } as const;
  if ((await sendForObject(client, request, [404, 409], terminal.stop)) === undefined) {
    terminal.warn(`nodemaint: pod "${name}" was replaced or is gone: nothing was deleted\n`);
    return 'failed';
  }
  const what = `in spite of PodDisruptionBudget ${budgets.join(', ')}; it has ${graceSecOf(pod)} s to end`;
  terminal.say(`pod/${name} deleted ${what}${isDry ? ' (server dry run)' : ''}\n`);
  if (!isDry) await recordEvent(scope, pod, budgets);
  return 'done';
}

async function overridePod(scope: OverrideScope, name: string): Promise<Outcome> {
  const { client, namespace, options, terminal } = scope;
  const pods = createRequesterClient(client, { namespace, requester: options.requester, dryRun: false });
  const pod = await pods.findPod(name, terminal.stop);
  if (pod === undefined) {
    terminal.warn(`nodemaint: pods "${name}" not found in namespace "${namespace}"\n`);
    return 'failed';
  }
  const place = { path: collectionPath(DISRUPTION_BUDGETS, namespace) };
  const { items } = await listAll<PodDisruptionBudget>(client, place, (budget) => budget, terminal.stop);
  const override = decideOverride(pod, items);
  switch (override.kind) {
    case 'nothing':
      terminal.say(`${override.message}\n`);
      return 'done';
    case 'refused':
      terminal.warn(`nodemaint: ${printable(override.message)}\n`);
      return 'failed';
    case 'held': {
      terminal.write(overrideQuestion(pod, override.explanation));
      if (options.yes !== true && options.dryRun === undefined && !(await isConfirmed(terminal))) {
        terminal.warn(`nodemaint: pod/${name} was not deleted\n`);
        return 'failed';
      }
      return await remove(scope, pod, override.budgets);
    }
  }
}

/**
 * Deletes each of the pods that a budget holds, with its grace period, one after the other. Returns the exit code. Throws
 * API_UNREACHABLE; what the API server refuses for one pod does not keep the others.
 */
export async function overrideBudgets(
  client: KubeClient,
  options: EvictOptions,
  namespace: string,
  terminal: Terminal,
): Promise<number> {
  const user = await ownName(client, terminal.stop);
  const outcomes: Outcome[] = [];
  for (const name of options.pods) {
    try {
      outcomes.push(await overridePod({ client, namespace, options, terminal, user }, name));
    } catch (error) {
      if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
      terminal.warn(`nodemaint: pod "${name}": ${printable(error.message)}\n`);
      outcomes.push('failed');
    }
  }
  return outcomes.includes('failed') ? EXIT.failed : EXIT.done;
}
