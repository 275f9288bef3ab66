/** The Evictions of `lifecycle.k8s.io` for which the agent is the responder, as requests of the engine. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Eviction } from '../../api/lifecycle.ts';
import { KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { isEvictionOver } from '../../decide/lifecycle/conditions.ts';
import { engineView } from '../../decide/lifecycle/translation.ts';
import { staticPodResponder } from '../../decide/lifecycle/names.ts';
import { describeError } from '../../errors.ts';
import type { InterceptorStep } from '../../kube/eviction/interceptor.ts';
import { isLifecycleServed } from '../../kube/lifecycle/discovery.ts';
import { type Read, readEviction } from '../../kube/lifecycle/parse.ts';
import { EVICTIONS } from '../../kube/lifecycle/resources.ts';
import { reportAsResponder } from '../../kube/lifecycle/responder.ts';
import { keyOf, objectPath, PODS, sendForObject } from '../../kube/resource.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createOnDemandWatch } from './on-demand-watch.ts';

/** A cluster gets this API by a restart of its API servers, and a drain is soon over. */
const ASK_AGAIN_MS = 60_000;
/** A drain does not wait longer for the first list: the node may not have the right to it. */
const MAX_WAIT_MS = 10_000;

/** Those of this node's static pods, watched only while a drain needs them. */
export interface NodeEvictions {
  /** As the engine knows requests; none while they are not watched. */
  list(): readonly EvictionRequest[];
  /** Whether the first list has arrived, or there can be none, or it has been waited for long enough. */
  synced(): boolean;
  watch(wanted: boolean): void;
  /** Reports where the request is one of these; returns whether it is. */
  report(request: EvictionRequest, step: InterceptorStep, signal: AbortSignal): Promise<boolean>;
}

/** Whether the pod of this UID is still in the API. Throws API_UNREACHABLE and API_REFUSED. */
async function isTargetThere(
  client: ClusterDependencies['client'],
  { metadata, spec }: EvictionRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, uid } = spec.target.pod;
  const path = objectPath(PODS, { name, namespace: metadata.namespace ?? '' });
  const pod = await sendForObject<Pod>(client, { method: 'GET', path }, [404], signal);
  return pod?.metadata.uid === uid;
}

/** The question whether the API server serves these Evictions. */
interface Question {
  /** Asks, unless there is an answer that is not old, or one is on its way. */
  ask(): void;
  /** Undefined while that is not known. */
  isServed(): boolean | undefined;
  forget(): void;
}

function createQuestion(
  { client, clock, log, onChange }: ClusterDependencies,
  lifetime: () => AbortSignal,
  onServed: () => void,
): Question {
  let answer: { readonly at: number; readonly isServed: boolean | undefined } | undefined;
  let isAsking = false;
  const ask = async (): Promise<void> => {
    isAsking = true;
    const isServed = await isLifecycleServed(client, lifetime()).catch((error: unknown) => {
      log.debug({ reason: describeError(error) }, 'cannot ask whether the cluster serves lifecycle.k8s.io');
      return undefined;
    });
    isAsking = false;
    answer = { at: clock.monotonic(), isServed };
    if (isServed === true && !lifetime().aborted) onServed();
    onChange();
  };
  return {
    ask: () => {
      const isOld = answer === undefined || clock.monotonic() - answer.at >= ASK_AGAIN_MS;
      if (isOld && !isAsking) void ask();
    },
    isServed: () => answer?.isServed,
    forget: () => {
      answer = undefined;
    },
  };
}

/** Creates them without a watch; it begins once the API server says that it serves them. */
export function createNodeEvictions(dependencies: ClusterDependencies, lifetime: () => AbortSignal): NodeEvictions {
  const { client, clock, nodeName } = dependencies;
  const responder = staticPodResponder(nodeName);
  const names = { responder: responder ?? '', interceptor: KUBELET_INTERCEPTOR };
  const watched = createOnDemandWatch<Read<Eviction>>(
    {
      scope: { resource: EVICTIONS, labelSelector: `${responder} in (responder,requester-responder)` },
      failure: 'watch on evictions failed',
      read: readEviction,
    },
    dependencies,
    lifetime,
  );
  /** Monotonic milliseconds; undefined while nobody wants the watch. */
  let wantedSince: number | undefined;
  const question = createQuestion(dependencies, lifetime, () => {
    if (wantedSince !== undefined) watched.start();
  });

  return {
    list: () => {
      return (watched.current()?.list() ?? []).flatMap(({ read }) => {
        return read === undefined || isEvictionOver(read) ? [] : (engineView(read, names) ?? []);
      });
    },
    synced: () => {
      if (responder === undefined || question.isServed() === false || watched.current()?.synced() === true) return true;
      return wantedSince !== undefined && clock.monotonic() - wantedSince >= MAX_WAIT_MS;
    },
    watch: (wanted) => {
      if (!wanted) {
        wantedSince = undefined;
        watched.stop();
        question.forget();
        return;
      }
      wantedSince ??= clock.monotonic();
      if (responder === undefined || watched.current() !== undefined || lifetime().aborted) return;
      question.ask();
    },
    report: async (request, step, signal) => {
      const known = watched.current()?.get(keyOf(request))?.read;
      if (known === undefined || known.metadata.uid !== request.metadata.uid) return false;
      if (step.kind === 'silent') return true;
      // A completion while the mirror pod is still there would be taken for a failure: nobody comes after this responder.
      const isDone = step.kind === 'completed' && !(await isTargetThere(client, request, signal));
      const progress = { ...step, completed: isDone };
      await reportAsResponder(client, known, { responder: names.responder, progress, now: clock.now() }, signal);
      return true;
    },
  };
}
