import type { EvictionRequest, InterceptorStatus } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { Interceptor, InterceptorStep } from '../../../src/kube/eviction/interceptor.ts';
import { conditionOf } from '../rigs/eviction.ts';

/** An interceptor whose turns the test decides. */
export interface Actor extends Interceptor {
  /** What it answers from now on. */
  turn: InterceptorStep;
  /** The pods whose turn it saw. */
  readonly seen: ReadonlySet<string>;
  /** The pods of requests that it saw come to an end. */
  readonly ended: ReadonlySet<string>;
}

/** Makes an actor that says it is at work. */
export function createActor(name: string): Actor {
  const seen = new Set<string>();
  const ended = new Set<string>();
  const self = {
    name,
    turn: { kind: 'working', message: `${name} is at work.` } as InterceptorStep,
    seen,
    ended,
    act: (_request: EvictionRequest, pod: Pod): Promise<InterceptorStep> => {
      seen.add(pod.metadata.name);
      return Promise.resolve(self.turn.kind === 'completed' ? self.turn : { againMs: 100, ...self.turn });
    },
    over: (request: EvictionRequest): Promise<void> => {
      ended.add(request.spec.target.pod.name);
      return Promise.resolve();
    },
  };
  return self;
}

/** The active interceptor. */
export function activeOf(request: EvictionRequest | undefined): string | undefined {
  return request?.status?.activeInterceptors?.[0];
}

/** A test whether the interceptor is active. */
export function isActive(name: string): (request: EvictionRequest) => boolean {
  return (request) => activeOf(request) === name;
}

/** A test whether the condition is True. */
export function hasEnded(type: 'Evicted' | 'Canceled'): (request: EvictionRequest) => boolean {
  return (request) => conditionOf(request, type)?.startsWith('True') === true;
}

/** What an interceptor has reported. */
export function entryOf(request: EvictionRequest | undefined, name: string): InterceptorStatus | undefined {
  return request?.status?.interceptors?.find((entry) => entry.name === name);
}

/** Who asks. */
export function requestersOf(request: EvictionRequest | undefined): readonly string[] {
  return (request?.spec.requesters ?? []).map(({ name }) => name);
}
