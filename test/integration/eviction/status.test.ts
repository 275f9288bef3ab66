import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  conditionWith,
  createRequest,
  firstStatus,
  patchStatus,
  read,
  report,
  started,
} from '../../support/rigs/admission.ts';

const A = 'a.example.com';
const B = 'b.example.com';
const LAST = 'imperative-eviction.k8s.io';
const NAMES = [A, B, LAST];

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

/** Writes as the EvictionRequest controller. */
async function write(name: string, status: object | null): ReturnType<typeof patchStatus> {
  return await patchStatus(rig.controller, name, status);
}

async function allow(name: string, status: object): Promise<void> {
  assertAllowed(await write(name, status));
}

/** Refused with these words, and nothing has changed. */
async function refuse(name: string, status: object | null, words: RegExp): Promise<void> {
  const old = await read(rig.admin, name);
  assertRefused(await write(name, status), words);
  assert.deepEqual(await read(rig.admin, name), old);
}

const toB = { activeInterceptors: [B], processedInterceptors: [A] };
const toLast = { activeInterceptors: [LAST], processedInterceptors: [A, B] };
const evicted = { conditions: [conditionWith('Progressing', 'False'), conditionWith('Evicted', 'True')] };
const canceled = { conditions: [conditionWith('Progressing', 'False'), conditionWith('Canceled', 'True')] };

/** Completes the last interceptor, which the controller itself plays. */
async function completeLast(name: string): Promise<void> {
  assertAllowed(await report(rig.controller, name, { name: LAST, completionTime: '2026-01-01T11:00:00Z' }));
}

describe('targetInterceptors', () => {
  it('targetInterceptors are set once, and then keep their names, their number and their order', async () => {
    const name = await started(rig, NAMES);
    const words = /status.targetInterceptors: .*targetInterceptors is immutable once set/;
    const set = (names: readonly string[]): object => ({ targetInterceptors: names.map((each) => ({ name: each })) });
    await refuse(name, set([B, A, LAST]), words);
    await refuse(name, set([A, LAST]), words);
    await refuse(name, set([A, B, 'c.example.com', LAST]), words);
    await refuse(name, { targetInterceptors: null }, words);
    await refuse(name, set([]), /should have at least 1 items|targetInterceptors is immutable/);
    await allow(name, set(NAMES));
  });

  it('targetInterceptors are 15 at most, each once, and imperative-eviction.k8s.io is the last', async () => {
    const many = (count: number): string[] => [
      ...Array.from({ length: count - 1 }, (_, index) => `i-${index}.example.com`),
      LAST,
    ];
    await refuse(await createRequest(rig), firstStatus(many(16)), /must have at most 15 items/);
    await refuse(await createRequest(rig), firstStatus([A, A, LAST]), /Duplicate value/);
    const words = /the last of targetInterceptors must be imperative-eviction.k8s.io/;
    await refuse(await createRequest(rig), firstStatus([LAST, A]), words);
    await refuse(await createRequest(rig), firstStatus([A, B]), words);
    await allow(await createRequest(rig), firstStatus(many(15)));
    await allow(await createRequest(rig), firstStatus([LAST]));
  });

  it('targetInterceptors have fully qualified names, and in the reserved domains only those of the list', async () => {
    const words = /must be a fully qualified domain name in lower case/;
    await refuse(await createRequest(rig), firstStatus(['single', LAST]), words);
    await refuse(await createRequest(rig), firstStatus(['A.example.com', LAST]), words);
    const reserved = /k8s.io and kubernetes.io are reserved, and this name is not on the list of allowed names/;
    for (const each of ['evil.k8s.io', 'k8s.io', 'x.kubelet.k8s.io', 'kubernetes.io', 'a.kubernetes.io']) {
      await refuse(await createRequest(rig), firstStatus([each, LAST]), reserved);
    }
    for (const each of ['kubelet.k8s.io', 'job.batch.k8s.io', 'evilk8s.io', 'k8s.io.example.com', 'a.x-k8s.io']) {
      await allow(await createRequest(rig), firstStatus([each, LAST]));
    }
  });

  it('targetInterceptors cannot be set any more on a request that was canceled before', async () => {
    const name = await createRequest(rig);
    await allow(name, { ...canceled, activeInterceptors: [], processedInterceptors: [] });
    const { targetInterceptors } = firstStatus(NAMES);
    await refuse(name, { targetInterceptors }, /may not be set on a request that is Evicted or Canceled/);
  });
});

describe('activeInterceptors', () => {
  const words = /only the first of targetInterceptors can become active, and then the next, one after the other/;

  it('activeInterceptors begin with the first target interceptor', async () => {
    await refuse(await createRequest(rig), { ...firstStatus(NAMES), activeInterceptors: [B] }, words);
    await refuse(await createRequest(rig), { ...firstStatus(NAMES), activeInterceptors: ['c.example.com'] }, words);
    await refuse(await createRequest(rig), { activeInterceptors: [A] }, words);
    const later = await createRequest(rig);
    await allow(later, { ...firstStatus(NAMES), activeInterceptors: [] });
    await allow(later, { activeInterceptors: [A] });
  });

  it('activeInterceptors has one entry at a time', async () => {
    await refuse(await started(rig, NAMES), { activeInterceptors: [A, B] }, /must have at most 1 item/);
  });

  it('the turn passes to the next interceptor, never over one and never back', async () => {
    const name = await started(rig, NAMES);
    await refuse(name, { activeInterceptors: [LAST], processedInterceptors: [A] }, words);
    await allow(name, toB);
    await refuse(name, { activeInterceptors: [A] }, words);
    await refuse(name, { activeInterceptors: [A], processedInterceptors: [A, B] }, words);
    await allow(name, toLast);
    await refuse(name, { activeInterceptors: [B], processedInterceptors: [A, B, LAST] }, words);
  });

  it('activeInterceptors are cleared only when the last has completed, or when the request ends', async () => {
    const name = await started(rig, NAMES);
    const kept = /can be removed only when it is the last and has completed, or when the request is Evicted/;
    assertAllowed(await report(rig.admin, name, { name: A, completionTime: '2026-01-01T11:00:00Z' }));
    await refuse(name, { activeInterceptors: [], processedInterceptors: [A] }, kept);
    await refuse(name, { activeInterceptors: null, processedInterceptors: [A] }, kept);
    await allow(name, toB);
    await allow(name, toLast);
    const none = { activeInterceptors: [], processedInterceptors: NAMES };
    await refuse(name, none, kept);
    const entries = (await read(rig.admin, name)).status?.interceptors ?? [];
    const completed = entries.map((entry) =>
      entry.name === LAST ? { ...entry, completionTime: '2026-01-01T11:00:00Z' } : entry,
    );
    await refuse(name, { ...none, interceptors: completed }, kept);
    await completeLast(name);
    await allow(name, none);
    await refuse(name, { activeInterceptors: [LAST] }, words);
    const early = await started(rig, NAMES);
    await refuse(
      early,
      { ...canceled, processedInterceptors: [A] },
      /no interceptor may be active in a request that is Evicted/,
    );
    await allow(early, { ...canceled, activeInterceptors: [], processedInterceptors: [A] });
    await refuse(
      early,
      { activeInterceptors: [B] },
      /no interceptor may be active in a request that is Evicted or Canceled/,
    );
  });
});

describe('processedInterceptors', () => {
  it('processedInterceptors grow by the interceptor that was active, and by no other', async () => {
    const words = /only an interceptor that was active and is not any more can be added/;
    await refuse(
      await createRequest(rig),
      { ...firstStatus(NAMES), activeInterceptors: [B], processedInterceptors: [A] },
      /no interceptor was active before/,
    );
    const name = await started(rig, NAMES);
    await refuse(name, { processedInterceptors: [A] }, words);
    await refuse(name, { processedInterceptors: [B] }, words);
    await refuse(name, { activeInterceptors: [LAST], processedInterceptors: [A, B] }, words);
    await refuse(name, { activeInterceptors: [B], processedInterceptors: [LAST] }, words);
    await allow(name, toB);
  });

  it('processedInterceptors never lose an interceptor, nor miss one', async () => {
    const name = await started(rig, NAMES);
    await refuse(name, { activeInterceptors: [B] }, /must be added to processedInterceptors/);
    const end = { ...evicted, activeInterceptors: [] };
    await refuse(name, end, /an interceptor that is not active any more must be added to processedInterceptors/);
    await allow(name, toB);
    await refuse(name, { processedInterceptors: [] }, /processedInterceptors can only grow/);
    await refuse(name, { processedInterceptors: null }, /processedInterceptors can only grow/);
    await allow(name, { ...end, processedInterceptors: [A, B] });
  });
});

describe('conditions and observedGeneration', () => {
  it('the conditions Evicted and Canceled stay once they are True', async () => {
    for (const [end, other] of [
      [evicted, 'Canceled'],
      [canceled, 'Evicted'],
    ] as const) {
      const name = await started(rig, NAMES);
      await allow(name, { ...end, activeInterceptors: [], processedInterceptors: [A] });
      const words = /Evicted and Canceled are final once True/;
      const [progressing, final] = end.conditions;
      await refuse(name, { conditions: [progressing, { ...final, status: 'False' }] }, words);
      await refuse(name, { conditions: [progressing] }, words);
      await refuse(name, { conditions: null }, words);
      const touched = { ...final, lastTransitionTime: '2026-01-02T10:00:00Z' };
      await refuse(name, { conditions: [progressing, touched] }, words);
      await refuse(name, { conditions: [progressing, { ...final, reason: 'Other' }] }, words);
      const both = { conditions: [...end.conditions, conditionWith(other, 'True')] };
      await refuse(name, both, /a request is either Evicted or Canceled, not both/);
      await allow(name, { conditions: [...end.conditions, conditionWith('example.com/Seen', 'True')] });
    }
  });

  it('the conditions Evicted and Canceled may be False or Unknown first', async () => {
    const name = await started(rig, NAMES);
    await allow(name, { conditions: [conditionWith('Evicted', 'False'), conditionWith('Canceled', 'False')] });
    await allow(name, { ...evicted, activeInterceptors: [], processedInterceptors: [A] });
  });

  it('observedGeneration grows up to the generation, and never shrinks or disappears', async () => {
    const name = await started(rig, NAMES);
    const words = /observedGeneration may not decrease/;
    await refuse(name, { observedGeneration: 0 }, words);
    await refuse(name, { observedGeneration: null }, words);
    await refuse(name, { observedGeneration: 2 }, /observedGeneration may not be ahead of metadata.generation/);
    const change = JSON.stringify({ spec: { requesters: [] } });
    await rig.controlPlane.kubectl(['patch', 'evreq', name, '--type=merge', '-p', change]);
    await allow(name, { observedGeneration: 2 });
  });

  it('the conditions and observedGeneration cannot be lost with the whole status', async () => {
    const name = await started(rig, NAMES);
    await refuse(name, null, /status may not be unset/);
    const { status }: EvictionRequest = await read(rig.admin, name);
    assert.equal(status?.observedGeneration, 1);
  });
});
