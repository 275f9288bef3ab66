import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import {
  decideRequesterStep,
  evictionWarning,
  isRequestedBy,
  otherRequesters,
} from '../../decide/eviction/requester.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { NodemaintError } from '../../errors.ts';
import type { EvictionRequester } from '../../kube/eviction/requester.ts';
import { printable } from '../../printable.ts';

/** What became of the wish for one pod. */
export type AskResult =
  /** The request has, or has no more, our entry; `request` is as the server has it. */
  | {
      readonly kind: 'done';
      readonly pod: Pod;
      readonly request: EvictionRequest;
      readonly message: string;
      readonly warning?: string;
    }
  /** There is nothing to ask for, or to take back. */
  | { readonly kind: 'nothing'; readonly message: string; readonly request?: EvictionRequest }
  /** With a pod, where the message does not name it: others may have failed likewise. */
  | { readonly kind: 'failed'; readonly message: string; readonly pod?: string };

/** Whose wish it is, and where. */
export interface AskContext {
  readonly requester: EvictionRequester;
  /** The name of the requester entry. */
  readonly name: string;
  readonly namespace: string;
}

const MAX_TRIES = 5;

function failed(message: string): AskResult {
  return { kind: 'failed', message };
}

function busy(pod: string): AskResult {
  return failed(`pod "${pod}": its EvictionRequest changes all the time; try again`);
}

/** What to say about requesters that are not ours. */
function alsoBy(request: EvictionRequest | undefined, own: string, words: string): string {
  const others = otherRequesters(request, own);
  return others.length === 0 ? '' : `; ${words} ${others.join(', ')}`;
}

async function askFor(context: AskContext, pod: string, signal: AbortSignal): Promise<AskResult> {
  const { requester, name, namespace } = context;
  let anew = '';
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await requester.findPod(pod, signal);
    if (found === undefined) return failed(`pods "${pod}" not found in namespace "${namespace}"`);
    const known = await requester.findRequest(found, signal);
    const step = decideRequesterStep(found, known, name);
    switch (step.kind) {
      case 'ended':
        return {
          kind: 'nothing',
          message: `pod/${pod} evicted already: ${printable(step.message)}`,
          ...(known === undefined ? {} : { request: known }),
        };
      case 'refused':
        return failed(step.message);
      case 'replace':
        anew = ` anew; the former request was canceled: ${printable(step.message)}`;
        if (known !== undefined) await requester.remove(known, false, signal);
        break;
      case 'apply': {
        const request = await requester.request(found, known, signal);
        // Canceled or replaced between our look and our write: all over again.
        if (request === undefined || isFinished(request)) break;
        const words = `eviction requested${step.already ? ' already' : anew}`;
        const message = `pod/${pod} ${words}${alsoBy(request, name, 'also requested by')}`;
        const warning = evictionWarning(found);
        return { kind: 'done', pod: found, request, message, ...(warning === undefined ? {} : { warning }) };
      }
    }
  }
  return busy(pod);
}

/** Dry runs do not get past a canceled request: the server has it still when it is asked for a new one. */
async function askForDry(context: AskContext, pod: string, signal: AbortSignal): Promise<AskResult> {
  const { requester, name } = context;
  const found = await requester.findPod(pod, signal);
  const known = found === undefined ? undefined : await requester.findRequest(found, signal);
  if (found === undefined || known === undefined || decideRequesterStep(found, known, name).kind !== 'replace') {
    return await askFor(context, pod, signal);
  }
  await requester.remove(known, false, signal);
  const request = await requester.request(found, known, signal);
  const message = `pod/${pod} eviction requested anew; the former request, which was canceled, is deleted`;
  return request === undefined ? busy(pod) : { kind: 'done', pod: found, request, message };
}

async function takeBack(context: AskContext, pod: string, signal: AbortSignal): Promise<AskResult> {
  const { requester, name, namespace } = context;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await requester.findPod(pod, signal);
    if (found === undefined) return failed(`pods "${pod}" not found in namespace "${namespace}"`);
    const known = await requester.findRequest(found, signal);
    if (!isRequestedBy(known, name)) {
      const others = alsoBy(known, name, 'still requested by');
      const message = `pod/${pod} eviction is not requested by ${name}${others === '' ? ', nor by anybody else' : others}`;
      return { kind: 'nothing', message, ...(known === undefined ? {} : { request: known }) };
    }
    const request = known === undefined ? undefined : await requester.withdraw(known, signal);
    if (request === undefined) continue;
    if (isRequestedBy(request, name)) {
      const message = `pod "${pod}": the requester entry ${name} was written by another field manager too, and stays; see: kubectl get evreq ${request.metadata.name} -n ${namespace} -o yaml --show-managed-fields`;
      return failed(message);
    }
    const ends = isFinished(request) ? '' : '; nobody else requests it, so it is canceled';
    const others = alsoBy(request, name, 'still requested by');
    const late = found.metadata.deletionTimestamp === undefined ? '' : '; the pod is terminating already';
    const message = `pod/${pod} eviction no longer requested${others === '' ? ends : others}${late}`;
    return { kind: 'done', pod: found, request, message };
  }
  return busy(pod);
}

/**
 * Asks for the eviction of a pod, or takes the wish back. What is wrong with this pod alone comes back as `failed`; throws
 * API_UNREACHABLE where no server answers.
 */
export async function askPod(
  context: AskContext,
  pod: string,
  mode: 'ask' | 'dry-run' | 'withdraw',
  signal: AbortSignal,
): Promise<AskResult> {
  try {
    switch (mode) {
      case 'ask':
        return await askFor(context, pod, signal);
      case 'dry-run':
        return await askForDry(context, pod, signal);
      case 'withdraw':
        return await takeBack(context, pod, signal);
    }
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
    return { kind: 'failed', message: error.message, pod };
  }
}
