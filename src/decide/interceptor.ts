import {
  DAEMON_SET_INTERCEPTOR,
  IMPERATIVE_INTERCEPTOR,
  INTERCEPTOR_ANNOTATION_PREFIXES,
  KUBELET_INTERCEPTOR,
} from '../api/names.ts';
import type { Pod } from '../api/pod.ts';
import { podTypeOf } from './pod.ts';

/** The priority of a pod's own controller where it does not say (KEP-4212, "10000/controller"). */
const CONTROLLER_PRIORITY = 10_000;
/** KEP-4563: the maximum length of the interceptors list, the default one not counted. */
const MAX_INTERCEPTORS = 15;
const FQDN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

interface Ranked {
  readonly name: string;
  readonly priority: number;
}

function fromAnnotations(annotations: Readonly<Record<string, string>>): readonly Ranked[] {
  const found = new Map<string, number>();
  for (const prefix of INTERCEPTOR_ANNOTATION_PREFIXES) {
    for (const [key, value] of Object.entries(annotations)) {
      const name = key.startsWith(prefix) ? key.slice(prefix.length) : '';
      const priority = /^\d{1,6}(?=\/|$)/.exec(value);
      if (FQDN.test(name) && name.length <= 253 && priority !== null && !found.has(name)) {
        found.set(name, Number(priority[0]));
      }
    }
  }
  return [...found].map(([name, priority]) => ({ name, priority }));
}

/**
 * The interceptors of a pod in the order in which they are asked (KEP-4563, "Interceptor Selection"): the pod's field,
 * else its annotations by falling priority; for DaemonSet and mirror pods their own controller; the Eviction API last.
 */
export function interceptorsOf(pod: Pod): readonly string[] {
  const field = (pod.spec.evictionInterceptors ?? []).map(({ name }) => name);
  const ranked = field.length > 0 ? [] : [...fromAnnotations(pod.metadata.annotations ?? {})];
  const podType = podTypeOf(pod);
  const builtIn = { Static: KUBELET_INTERCEPTOR, DaemonSet: DAEMON_SET_INTERCEPTOR, Default: undefined }[podType];
  const names = new Set(field);
  if (builtIn !== undefined && field.length === 0 && !ranked.some(({ name }) => name === builtIn)) {
    ranked.push({ name: builtIn, priority: CONTROLLER_PRIORITY });
  }
  for (const { name } of ranked.toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))) {
    names.add(name);
  }
  if (builtIn !== undefined) names.add(builtIn);
  names.delete(IMPERATIVE_INTERCEPTOR);
  return [...[...names].slice(0, MAX_INTERCEPTORS - 1), IMPERATIVE_INTERCEPTOR];
}
