import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { withoutManagers } from '../../kube/cache/transform.ts';
import { createRequesterClient } from '../../kube/eviction/requester.ts';
import { printable } from '../../printable.ts';
import { openUserCluster } from '../cluster/open-user-cluster.ts';
import { STOP_REASONS } from '../follow/follower.ts';
import { formatObject } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type AskContext, askPod, type AskResult } from './ask.ts';
import { commandFor, type EvictFlags, type EvictOptions, parseEvictOptions } from './options.ts';
import { type EvictWatchResult, watchEvictions } from './watch.ts';

/** The kind of a request as kubectl writes it with -o name. */
const REQUEST_KIND = 'evictionrequest.coordination.x-k8s.io';

/** The requests as kubectl prints objects: one as itself, several as a List. */
function formatRequests(requests: readonly EvictionRequest[], output: 'json' | 'yaml' | 'name'): string {
  if (output === 'name') return requests.map(({ metadata }) => `${REQUEST_KIND}/${metadata.name}\n`).join('');
  const items = requests.map((request) => ({
    ...withoutManagers(request),
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
  const requester = createRequesterClient(client, { namespace, requester: name, dryRun: options.dryRun !== undefined });
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
  const pods = targets.map((each) => each.name);
  if (watch !== true || targets.length === 0) {
    const requests = requestsOf(results);
    if (output !== 'table') terminal.write(formatRequests(requests, output));
    const hint = terminal.isTerminal && output === 'table' && targets.length > 0 && options.withdraw !== true;
    if (hint && options.dryRun === undefined) say(`Watch with: ${commandFor(options, pods, '--watch')}\n`);
    return failed ? EXIT.failed : EXIT.done;
  }
  const context = { client, requester, name, namespace, isSilent: output !== 'table', terminal };
  const watched = await watchEvictions(targets, context, options.timeoutMs);
  const others = requestsOf(results.filter(({ kind }) => kind === 'nothing'));
  if (output !== 'table') terminal.write(formatRequests([...others, ...watched.requests], output));
  const code = concludeWatch(watched, options, pods, terminal);
  return failed ? EXIT.failed : code;
}

/**
 * `nodemaint evict`: requests the eviction of pods, withdraws such requests, or watches them to their end. Returns the exit
 * code (docs/usage/drain.md). Throws USAGE for an invalid command line; KUBECONFIG_INVALID, API_UNREACHABLE.
 */
export async function evictCommand(names: readonly string[], flags: EvictFlags, terminal: Terminal): Promise<number> {
  const options = parseEvictOptions(names, flags);
  const { access, client } = await openUserCluster(options, 'nodemaint-evict');
  try {
    const namespace = options.namespace ?? access.namespace;
    return await run(options, client, namespace, terminal);
  } catch (error) {
    if (!terminal.stop.aborted) throw error;
    terminal.warn(
      `nodemaint: interrupted; requests that were made stay\nWithdraw them with: ${commandFor(options, options.pods, '--withdraw')}\n`,
    );
    return EXIT.failed;
  } finally {
    client.close();
  }
}
