import {
  DAEMON_SET_INTERCEPTOR,
  IMPERATIVE_INTERCEPTOR,
  INTERCEPTOR_ANNOTATION_PREFIXES,
  KUBELET_INTERCEPTOR,
  RESERVED_INTERCEPTORS,
} from '../../api/names.ts';
import type { PodType } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { podTypeOf } from '../pod.ts';

/** The interceptor that ends pods of a type; the others of a pod only prepare its end, or may do it before. */
export const ENDING_INTERCEPTOR: Readonly<Record<PodType, string>> = {
  Default: IMPERATIVE_INTERCEPTOR,
  DaemonSet: DAEMON_SET_INTERCEPTOR,
  Static: KUBELET_INTERCEPTOR,
};

/** The priority of a pod's own controller where it does not say (KEP-4212, "10000/controller"). */
const CONTROLLER_PRIORITY = 10_000;
/** KEP-4563: the maximum length of the interceptors list; the default one takes the last place. */
const MAX_INTERCEPTORS = 15;
const FQDN = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/;
const RESERVED = /(^|\.)(k8s|kubernetes)\.io$/;

/** Whether a name is a fully qualified domain name (k8s.io/apimachinery, IsFullyQualifiedDomainName). */
export function isFullyQualified(name: string): boolean {
  return name.length <= 253 && FQDN.test(name);
}

/**
 * Whether the name may intercept: fully qualified, and not somebody's own invention in the reserved domain. The built-in ones
 * act on their own type of pods alone: another pod that names them would wait for nobody.
 */
function mayIntercept(name: string, podType: PodType): boolean {
  if (!isFullyQualified(name)) return false;
  if (name === KUBELET_INTERCEPTOR || name === DAEMON_SET_INTERCEPTOR) return name === ENDING_INTERCEPTOR[podType];
  return !RESERVED.test(name) || RESERVED_INTERCEPTORS.includes(name);
}

/** The interceptors of a pod, and what the pod names in vain, a sentence each. */
interface InterceptorSelection {
  readonly names: readonly string[];
  readonly ignored: readonly string[];
}

interface Ranked {
  readonly name: string;
  readonly priority: number;
}

function fromAnnotations(pod: Pod, ignored: string[]): Ranked[] {
  const found = new Map<string, number>();
  for (const prefix of INTERCEPTOR_ANNOTATION_PREFIXES) {
    for (const [key, value] of Object.entries(pod.metadata.annotations ?? {})) {
      if (!key.startsWith(prefix)) continue;
      const name = key.slice(prefix.length);
      const priority = /^(0|[1-9]\d{0,4}|100000)(?=\/|$)/.exec(value);
      if (!mayIntercept(name, podTypeOf(pod))) {
        ignored.push(`The annotation ${key} names no interceptor that is allowed.`);
      } else if (priority === null) {
        ignored.push(`The annotation ${key} has no priority: write "10000/controller", or another number.`);
      } else if (!found.has(name)) {
        found.set(name, Number(priority[0]));
      }
    }
  }
  return [...found].map(([name, priority]) => ({ name, priority }));
}

function byPriority(a: Ranked, b: Ranked): number {
  return b.priority - a.priority || (a.name < b.name ? -1 : 1);
}

/**
 * The interceptors of a pod in the order in which they are asked (KEP-4563, "Interceptor Selection"): the pod's field,
 * else its annotations by falling priority; for DaemonSet and mirror pods their own controller; the Eviction API last.
 */
export function interceptorsOf(pod: Pod): InterceptorSelection {
  const ignored: string[] = [];
  const field = (pod.spec.evictionInterceptors ?? []).map(({ name }) => name);
  const ranked = field.length > 0 ? [] : fromAnnotations(pod, ignored);
  const podType = podTypeOf(pod);
  const builtIn = podType === 'Default' ? undefined : ENDING_INTERCEPTOR[podType];
  if (builtIn !== undefined && field.length === 0 && !ranked.some(({ name }) => name === builtIn)) {
    ranked.push({ name: builtIn, priority: CONTROLLER_PRIORITY });
  }
  const names = new Set(field.filter((name) => mayIntercept(name, podType)));
  for (const name of field.filter((name) => !mayIntercept(name, podType))) {
    ignored.push(`spec.evictionInterceptors names ${name}, which is no interceptor that is allowed.`);
  }
  for (const { name } of ranked.toSorted(byPriority)) names.add(name);
  if (builtIn !== undefined) names.add(builtIn);
  names.delete(IMPERATIVE_INTERCEPTOR);
  const asked = [...names].slice(0, MAX_INTERCEPTORS - 1);
  // A pod that only its own controller can end must not lose that one to the limit.
  if (builtIn !== undefined && !asked.includes(builtIn)) asked[asked.length - 1] = builtIn;
  for (const name of names) {
    if (!asked.includes(name)) ignored.push(`${name} is beyond the ${MAX_INTERCEPTORS} interceptors of a pod.`);
  }
  return { names: [...asked, IMPERATIVE_INTERCEPTOR], ignored };
}
