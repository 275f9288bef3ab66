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
import type { RequesterClient } from '../../kube/eviction/requester.ts';
import { printable } from '../../printable.ts';

/** What became of the request for one pod. */
export type AskResult =
  /** The request now has our entry, or no longer has it; `request` is the server's version. */
  | {
      readonly kind: 'done';
      readonly pod: Pod;
      readonly request: EvictionRequest;
      readonly message: string;
      readonly warning?: string;
    }
  /** There is nothing to request, or to withdraw. */
  | { readonly kind: 'nothing'; readonly message: string; readonly request?: EvictionRequest }
  /** `pod` is set where the message does not name it: several pods may fail with the same message. */
  | { readonly kind: 'failed'; readonly message: string; readonly pod?: string };

/** Who requests evictions, and where. */
export interface AskContext {
  readonly requester: RequesterClient;
  /** The name of the requester entry. */
  readonly name: string;
  readonly namespace: string;
}

const MAX_TRIES = 5;

function failed(message: string): AskResult {
  return { kind: 'failed', message };
}

function busy(pod: string): AskResult {
  return failed(`pod "${pod}": its EvictionRequest keeps changing; try again`);
}

/** The other requesters, as the end of a sentence. */
function alsoBy(request: EvictionRequest | undefined, own: string, words: string): string {
  const others = otherRequesters(request, own);
  return others.length === 0 ? '' : `; ${words} ${others.join(', ')}`;
}

async function askFor(context: AskContext, pod: string, isDry: boolean, signal: AbortSignal): Promise<AskResult> {
  const { requester, name, namespace } = context;
  let requested = 'eviction requested';
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await requester.findPod(pod, signal);
    if (found === undefined) return failed(`pods "${pod}" not found in namespace "${namespace}"`);
    const known = await requester.findRequest(found, signal);
    const step = decideRequesterStep(found, known, name);
    switch (step.kind) {
      case 'ended':
        return {
          kind: 'nothing',
          message: `pod/${pod} already evicted: ${printable(step.message)}`,
          ...(known === undefined ? {} : { request: known }),
        };
      case 'refused':
        return failed(step.message);
      case 'replace':
        requested = `eviction requested again; the previous request was canceled: ${printable(step.message)}`;
        if (known !== undefined) await requester.remove(known, false, signal);
        // In a dry run the server deletes nothing, and another look would find it again.
        if (isDry) {
          const request = await requester.request(found, known, signal);
          const message = `pod/${pod} ${requested}`;
          return request === undefined ? busy(pod) : { kind: 'done', pod: found, request, message };
        }
        break;
      case 'apply': {
        const request = await requester.request(found, known, signal);
        // It was canceled or replaced since it was read: try again.
        if (request === undefined || isFinished(request)) break;
        const words = step.already ? 'eviction already requested' : requested;
        const message = `pod/${pod} ${words}${alsoBy(request, name, 'also requested by')}`;
        const warning = evictionWarning(found);
        return { kind: 'done', pod: found, request, message, ...(warning === undefined ? {} : { warning }) };
      }
    }
  }
  return busy(pod);
}

async function withdrawFrom(context: AskContext, pod: string, signal: AbortSignal): Promise<AskResult> {
  const { requester, name, namespace } = context;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await requester.findPod(pod, signal);
    if (found === undefined) return failed(`pods "${pod}" not found in namespace "${namespace}"`);
    const known = await requester.findRequest(found, signal);
    if (!isRequestedBy(known, name)) {
      const others = alsoBy(known, name, 'still requested by');
      const message = `pod/${pod} eviction is not requested by ${name}${others === '' ? ', and by no other requester' : others}`;
      return { kind: 'nothing', message, ...(known === undefined ? {} : { request: known }) };
    }
    const request = known === undefined ? undefined : await requester.withdraw(known, signal);
    if (request === undefined) continue;
    if (isRequestedBy(request, name)) {
      const message = `pod "${pod}": the requester entry ${name} stays, because another field manager owns it too; see: kubectl get evreq ${request.metadata.name} -n ${namespace} -o yaml --show-managed-fields`;
      return failed(message);
    }
    const ends = isFinished(request) ? '' : '; no other requester is left, so it is canceled';
    const others = alsoBy(request, name, 'still requested by');
    const late = found.metadata.deletionTimestamp === undefined ? '' : '; the pod is already terminating';
    const message = `pod/${pod} eviction no longer requested${others === '' ? ends : others}${late}`;
    return { kind: 'done', pod: found, request, message };
  }
  return busy(pod);
}

/**
 * Requests the eviction of a pod, or withdraws the request. A failure that concerns only this pod is returned as `failed`;
 * throws API_UNREACHABLE where no server answers.
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
        return await askFor(context, pod, false, signal);
      case 'dry-run':
        return await askFor(context, pod, true, signal);
      case 'withdraw':
        return await withdrawFrom(context, pod, signal);
    }
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
    return { kind: 'failed', message: error.message, pod };
  }
}
