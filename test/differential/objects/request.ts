/** Random changes of an EvictionRequest that others than the product made, and which of them the rules of the API allow. */
import { EVICTION_REQUEST_API_VERSION } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { EVICTION_REQUESTS } from '../../../src/kube/resource.ts';
import type { Random } from '../../chaos/random.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import { part as partOf, schemaOf } from '../../fuzz/schema.ts';
import { drawOutside } from '../schema/outside.ts';
import type { Schema } from '../schema/schema.ts';
import type { Sequence, Step } from './sequence.ts';

const CHANGES = 7;
/** Before a silent interceptor is passed over: its pod and the request are still there. */
const REST_MS = 4 * 60_000;
const SPEC = partOf(schemaOf('evictionrequest'), 'spec') as Schema;
const REQUESTERS = ['one.example.com', 'two.example.com', 'three.example.com'];
/** The pod that is asked to leave; its interceptor is silent. */
const POD = 'intercepted';

interface At {
  readonly requesters: readonly { readonly name: string }[];
  readonly labels: Readonly<Record<string, string | null>>;
}

/** At least one: a request without any is over, and another one begins anew. */
function drawRequesters(random: Random): At['requesters'] {
  const drawn = REQUESTERS.filter(() => random.whole(2) === 0);
  return (drawn.length > 0 ? drawn : [random.pick(['one.example.com', 'two.example.com'])]).map((name) => ({ name }));
}

/** Labels of the pod, which win, and others. */
function drawLabels(random: Random): At['labels'] {
  return { app: random.pick(['other', null]), pod: null, 'differential.example/one': random.pick(['a', 'b', null]) };
}

function podOf(part: ClusterPart): Pod {
  const pod = part.pods().find(({ metadata }) => metadata.name === POD);
  if (pod === undefined) throw new Error(`there is no pod ${POD}`);
  return pod;
}

function bodyOf({ requesters, labels }: At, part: ClusterPart): object {
  const { name, uid = '', namespace } = podOf(part).metadata;
  const set = Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== null));
  return {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels: set },
    spec: { target: { pod: { name, uid } }, requesters },
  };
}

function drawStep(at: At, random: Random): { readonly step: Step; readonly next: At } {
  switch (random.whole(6)) {
    case 0: {
      const labels = drawLabels(random);
      return {
        step: { what: `labels ${JSON.stringify(labels)}`, patch: { metadata: { labels } }, isAllowed: true },
        next: { ...at, labels: { ...at.labels, ...labels } },
      };
    }
    case 1: {
      const next = { requesters: drawRequesters(random), labels: {} };
      return { step: { what: 'made anew', anew: next, isAllowed: true }, next };
    }
    case 2: {
      const isLeft = ([key]: readonly (string | number)[]): boolean => key === 'target';
      const bad = drawOutside(SPEC, { requesters: at.requesters }, { unknownKeys: false, isLeft }, random);
      const isTarget = bad.rule === 'required';
      const patch = isTarget ? { spec: { target: { pod: { name: 'other' } } } } : { spec: bad.value };
      return { step: { what: `${bad.rule} of spec.${bad.path.join('.')}`, patch, isAllowed: false }, next: at };
    }
    default: {
      const requesters = drawRequesters(random);
      const step = {
        what: `requesters ${JSON.stringify(requesters)}`,
        patch: { spec: { requesters } },
        isAllowed: true,
      };
      return { step, next: { ...at, requesters } };
    }
  }
}

/** Draws a sequence of changes of the request for one pod. */
export function drawRequest(_: Pick<ClusterPart, 'id' | 'nodeNames'>, random: Random): Sequence {
  const first: At = { requesters: drawRequesters(random), labels: {} };
  let at = first;
  const steps: Step[] = [];
  for (let count = 0; count < CHANGES; count += 1) {
    const { step, next } = drawStep(at, random);
    steps.push(step);
    at = next;
  }
  return {
    first,
    steps,
    last: { first: at, steps: [] },
    resource: EVICTION_REQUESTS,
    restMs: REST_MS,
    nameOf: (part) => podOf(part).metadata.uid ?? '',
    bodyOf: (each, part) => bodyOf(each as At, part),
  };
}
