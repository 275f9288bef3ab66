/** Upstream's cases of validation, by their names, each sent to the API server. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Eviction, LifecycleRequest } from '../../../src/api/lifecycle.ts';
import type { KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, objectPath, type Resource, statusMessage } from '../../../src/kube/resource.ts';
import {
  atTime,
  expectedErrors,
  readValidationCases,
  type ValidationCase,
} from '../../support/eviction/validation-cases.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS, type LifecycleRig } from '../../support/rigs/lifecycle.ts';
import type { Scene } from './scene.ts';

/** An API path has a namespace. */
const IMPOSSIBLE = 'missing namespace';
const API_VERSION = 'lifecycle.k8s.io/v1alpha1';

interface ObjectName {
  readonly name: string;
  readonly namespace: string;
}

interface Cause {
  readonly field: string;
  readonly message: string;
}

function causesOf({ body }: KubeResponse): readonly Cause[] {
  return (body as { readonly details?: { readonly causes?: readonly Cause[] } }).details?.causes ?? [];
}

function resourceOf({ kind }: ValidationCase): Resource {
  return kind.startsWith('request') ? LIFECYCLE_REQUESTS : EVICTIONS;
}

/** The object before the write of the case. */
function objectBefore(each: ValidationCase, now: number, { name, namespace }: ObjectName): object {
  const target = { pod: { name: 'foo.pod', uid: 'bd23f542-ac79-4b44-a628-9735e18b8037' } };
  const spec = each.kind.startsWith('request')
    ? { target, requester: 'foo.example.com/bar', intent: 'Eviction' }
    : { target };
  const kind = each.kind.startsWith('request') ? 'EvictionRequest' : 'Eviction';
  const metadata = {
    name,
    namespace,
    uid: crypto.randomUUID(),
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const whole = { apiVersion: API_VERSION, kind, metadata, spec };
  const was = atTime(each.was, each.clock, now);
  if (!each.kind.endsWith('status')) return { ...whole, ...was, apiVersion: API_VERSION, kind, metadata };
  return { ...whole, status: was };
}

/** How often a case is tried again: a slow machine needs more than one second. */
const MOST_AGAIN = 3;

/** Sends the write of the case, and does not let it be carried out. */
async function attempt(rig: LifecycleRig, each: ValidationCase, namespace: string): Promise<KubeResponse> {
  const resource = resourceOf(each);
  if (each.was === undefined) {
    const { spec } = each.is as Eviction | LifecycleRequest;
    const body = { metadata: { name: 'new', namespace }, spec };
    return await rig.ask({ method: 'POST', path: `${collectionPath(resource, namespace)}?dryRun=All`, body });
  }
  // Most of the states can be reached only with a clock of the API server that is put forward.
  const name = `case-${crypto.randomUUID()}`;
  // One moment for both: times that are unchanged must stay so to the second.
  const now = Date.now();
  await rig.store(`/registry/${resource.plural}/${namespace}/${name}`, objectBefore(each, now, { name, namespace }));
  const known = await rig.get<Eviction>(resource, namespace, name);
  assert.ok(known);
  const is = atTime(each.is, each.clock, now);
  const isStatus = each.kind.endsWith('status');
  const { spec, metadata } = is as Eviction;
  const body = isStatus
    ? { ...known, status: is }
    : { ...known, spec, metadata: { ...known.metadata, ...(metadata.labels ? { labels: metadata.labels } : {}) } };
  const path = `${objectPath(resource, known.metadata, isStatus ? 'status' : undefined)}?dryRun=All`;
  return await rig.ask({ method: 'PUT', path, body });
}

function hasCause(causes: readonly Cause[], expected: string): boolean {
  const [field = '', words = ''] = expected.split(/: (.*)/su);
  return causes.some((each) => each.field.endsWith(field) && each.message.includes(words));
}

/** How many of the expected errors the answer does not have; one where it should have been taken, or refused. */
function missingErrors(answer: KubeResponse, errors: readonly string[] | undefined): number {
  if (errors === undefined) return answer.status < 300 ? 0 : 1;
  if (answer.status !== 422) return 1;
  return errors.filter((error) => !hasCause(causesOf(answer), error)).length;
}

export async function addValidationCases(rigOf: () => LifecycleRig, { newNamespace }: Scene): Promise<void> {
  let namespace: string;
  before(async () => {
    namespace = await newNamespace();
  });

  for (const each of await readValidationCases()) {
    if (each.name === IMPOSSIBLE) continue;
    const errors = expectedErrors(each);
    it(`the API server ${errors === undefined ? 'takes' : 'refuses'} (${each.kind}): ${each.name}`, async () => {
      let answer = await attempt(rigOf(), each, namespace);
      // Some times are wrong by a second only: they have to be judged within the second in which they were written.
      for (let again = 0; again < MOST_AGAIN && missingErrors(answer, errors) !== 0; again += 1) {
        await delay(1_000 - (Date.now() % 1_000));
        answer = await attempt(rigOf(), each, namespace);
      }
      const said = `${answer.status}: ${statusMessage(answer)}`;
      if (errors === undefined) {
        assert.ok(answer.status < 300, said);
        return;
      }
      assert.equal(answer.status, 422, said);
      for (const error of errors) assert.ok(hasCause(causesOf(answer), error), `${error} is not in: ${said}`);
    });
  }
}
