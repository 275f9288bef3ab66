import { randomBytes } from 'node:crypto';
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { decideOverride, overrideQuestion } from '../../decide/disruption-budget/override.ts';
import { graceSecOf } from '../../decide/pod.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { transformRequest } from '../../kube/copy/transform.ts';
import { eventBody, eventName } from '../../kube/event/text.ts';
import { createRequesterClient, type RequesterClient } from '../../kube/eviction/requester.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, DISRUPTION_BUDGETS, EVENTS, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import { printable } from '../../printable.ts';
import { usage } from '../arguments/parse.ts';
import { openUserCluster } from '../cluster/open-user-cluster.ts';
import { ownName } from '../../kube/certificate/own-name.ts';
import { STOP_REASONS } from '../follow/follower.ts';
import { isConfirmed } from '../terminal/confirm.ts';
import { formatObject } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type AskContext, askPod, type AskResult } from './ask.ts';
import { commandFor, type EvictFlags, type EvictOptions, parseEvictOptions } from './options.ts';
import { createEvictScreen } from './screen.ts';
import { type EvictWatchResult, watchEvictions } from './watch.ts';

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
async function overrideBudgets(
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

/** The kind of a request as kubectl writes it with -o name. */
const REQUEST_KIND = 'evictionrequest.coordination.x-k8s.io';

/** The requests as kubectl prints objects: one as itself, several as a List. */
function formatRequests(requests: readonly EvictionRequest[], output: 'json' | 'yaml' | 'name'): string {
  if (output === 'name') return requests.map(({ metadata }) => `${REQUEST_KIND}/${metadata.name}\n`).join('');
  const items = requests.map((request) => ({
    ...transformRequest(request),
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
  }));
  const [first] = items;
  const shown = items.length === 1 ? first : { apiVersion: 'v1', kind: 'List', items };
  return formatObject(shown ?? {}, output);
}

/** Writes the failures; the same failure of several pods is one line. */
function sayFailures(results: readonly AskResult[], terminal: Terminal): boolean {
  const alike = new Map<string, string[]>();
  for (const result of results) {
    if (result.kind !== 'failed') continue;
    const pods = alike.get(result.message) ?? [];
    if (result.pod !== undefined) pods.push(`pod "${result.pod}"`);
    alike.set(result.message, pods);
  }
  for (const [message, pods] of alike) {
    terminal.warn(`nodemaint: ${pods.length === 0 ? '' : `${pods.join(', ')}: `}${printable(message)}\n`);
  }
  return alike.size > 0;
}

function requestsOf(results: readonly AskResult[]): readonly EvictionRequest[] {
  return results.flatMap((result) => (result.kind === 'failed' ? [] : (result.request ?? [])));
}

/** Asks for all pods at once; reports each result in the order of the pods. */
async function askAll(
  context: AskContext,
  options: EvictOptions,
  say: (text: string) => void,
  terminal: Terminal,
): Promise<readonly AskResult[]> {
  const mode = options.withdraw === true ? 'withdraw' : options.dryRun === undefined ? 'ask' : 'dry-run';
  const asking = options.pods.map((pod) => askPod(context, pod, mode, terminal.stop));
  // The loop below throws the first error; the errors of the others must not be unhandled rejections.
  for (const each of asking) each.catch(() => undefined);
  const results: AskResult[] = [];
  for (const each of asking) {
    const result = await each;
    results.push(result);
    if (result.kind === 'failed') continue;
    say(`${result.message}${options.dryRun === undefined ? '' : ' (server dry run)'}\n`);
    if (result.kind === 'done' && result.warning !== undefined)
      terminal.warn(`warning: ${printable(result.warning)}\n`);
  }
  return results;
}

function sayRemaining(options: EvictOptions, pods: readonly string[], why: string, terminal: Terminal): void {
  const withdraw = commandFor(options, pods, '--withdraw');
  const text = `nodemaint: ${why}; these pods have not left; their eviction stays requested: ${pods.join(', ')}\n`;
  terminal.warn(`${text}Withdraw it with: ${withdraw}\n`);
}

/** Writes how watching ended. Returns the exit code. */
function concludeWatch(
  { ending, progress }: EvictWatchResult,
  options: EvictOptions,
  pods: readonly string[],
  terminal: Terminal,
): number {
  const stateOf = (pod: string): string | undefined => progress.get(pod)?.state;
  const canceled = pods.filter((pod) => stateOf(pod) === 'canceled');
  const remaining = pods.filter((pod) => !['canceled', 'evicted', 'gone'].includes(stateOf(pod) ?? ''));
  for (const pod of canceled) {
    terminal.warn(
      `nodemaint: the eviction of pod "${pod}" was canceled: ${printable(progress.get(pod)?.message ?? '')}\n`,
    );
  }
  if (ending !== 'over' && remaining.length > 0) sayRemaining(options, remaining, STOP_REASONS[ending], terminal);
  if (canceled.length > 0 || (ending === 'interrupted' && remaining.length > 0)) return EXIT.failed;
  return remaining.length > 0 ? EXIT.timedOut : EXIT.done;
}

async function run(options: EvictOptions, client: KubeClient, namespace: string, terminal: Terminal): Promise<number> {
  const { requester: name, output, watch } = options;
  const requester = createRequesterClient(client, {
    namespace,
    requester: name,
    dryRun: options.dryRun !== undefined,
  });
  const say = (text: string): void => {
    if (output === 'table') terminal.say(text);
  };
  const results = await askAll({ requester, name, namespace }, options, say, terminal);
  const failed = sayFailures(results, terminal);
  const targets = results.flatMap((result) => {
    if (result.kind !== 'done') return [];
    const { name: pod, uid = '' } = result.pod.metadata;
    return [{ name: pod, uid }];
  });
  if (watch !== true || targets.length === 0) {
    const requests = requestsOf(results);
    if (output !== 'table') terminal.write(formatRequests(requests, output));
    const hint = terminal.isTerminal && output === 'table' && targets.length > 0 && options.withdraw !== true;
    if (hint && options.dryRun === undefined)
      say(
        `Watch with: ${commandFor(
          options,
          targets.map((each) => each.name),
          '--watch',
        )}\n`,
      );
    return failed ? EXIT.failed : EXIT.done;
  }
  const screen = createEvictScreen(terminal, output !== 'table');
  const context = { client, clock: createSystemClock(), requester, name, namespace, screen, terminal };
  const watched = await watchEvictions(targets, context, options.timeoutMs, terminal.stop);
  if (output !== 'table')
    terminal.write(
      formatRequests([...requestsOf(results.filter(({ kind }) => kind === 'nothing')), ...watched.requests], output),
    );
  const code = concludeWatch(
    watched,
    options,
    targets.map((each) => each.name),
    terminal,
  );
  return failed ? EXIT.failed : code;
}

/**
 * `nodemaint evict`: requests the eviction of pods, withdraws such requests, or watches them to their end. Returns the exit
 * code (docs/usage/evict-pods.md). Throws USAGE for an invalid command line; KUBECONFIG_INVALID, API_UNREACHABLE.
 */
export async function evictCommand(names: readonly string[], flags: EvictFlags, terminal: Terminal): Promise<number> {
  const options = parseEvictOptions(names, flags);
  if (
    options.inSpiteOfBudget === true &&
    options.yes !== true &&
    options.dryRun === undefined &&
    !terminal.isTerminal
  ) {
    throw usage(
      '--in-spite-of-budget deletes pods that a budget holds: write --yes where no person sits at a terminal',
    );
  }
  const { access, client } = await openUserCluster(options, 'nodemaint-evict', terminal);
  try {
    const namespace = options.namespace ?? access.namespace;
    if (options.inSpiteOfBudget === true) return await overrideBudgets(client, options, namespace, terminal);
    return await run(options, client, namespace, terminal);
  } catch (error) {
    if (!terminal.stop.aborted || options.inSpiteOfBudget === true) throw error;
    terminal.warn(
      `nodemaint: interrupted; requests that were made stay\nWithdraw them with: ${commandFor(options, options.pods, '--withdraw')}\n`,
    );
    return EXIT.failed;
  } finally {
    client.close();
  }
}
