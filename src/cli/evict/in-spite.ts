/** `nodemaint evict --in-spite-of-budget`: deletes pods that PodDisruptionBudgets hold, after asking the person. */
import { randomBytes } from 'node:crypto';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { decideOverride, overrideQuestion } from '../../decide/disruption-budget/override.ts';
import { graceSecOf } from '../../decide/pod.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { eventBody, eventName } from '../../kube/event/text.ts';
import { createRequesterClient, type RequesterClient } from '../../kube/eviction/requester.ts';
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
  readonly pods: Pick<RequesterClient, 'findPod'>;
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
  const at = Date.now();
  const why = options.reason === undefined ? '' : `: ${options.reason}`;
  const message = `${user} deleted the pod in spite of PodDisruptionBudget ${budgets.join(', ')}${why}`;
  const subject = { apiVersion: 'v1', kind: 'Pod', metadata: { ...pod.metadata, namespace } };
  const text = { type: 'Warning', reason: 'DeletedInSpiteOfBudget', message } as const;
  const name = eventName(subject, randomBytes(8).toString('hex'));
  const body = eventBody(name, { subject, text }, { count: 1, firstAt: at, lastAt: at }, 'nodemaint');
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
  const { client, pods, namespace, options, terminal } = scope;
  const pod = await pods.findPod(name, terminal.stop);
  if (pod === undefined) {
    terminal.warn(`nodemaint: pods "${name}" not found in namespace "${namespace}"\n`);
    return 'failed';
  }
  // Read for each pod: the deletion of the one before it changes what they say.
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
  const pods = createRequesterClient(client, { namespace, requester: options.requester, dryRun: false });
  const scope: OverrideScope = { client, pods, namespace, options, terminal, user };
  const outcomes: Outcome[] = [];
  for (const name of options.pods) {
    try {
      outcomes.push(await overridePod(scope, name));
    } catch (error) {
      if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
      terminal.warn(`nodemaint: pod "${name}": ${printable(error.message)}\n`);
      outcomes.push('failed');
    }
  }
  return outcomes.includes('failed') ? EXIT.failed : EXIT.done;
}
