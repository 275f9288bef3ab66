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
  read,
  report,
  started,
} from '../../support/rigs/admission.ts';
import { A, allow, B, LAST, NAMES, refuse } from '../../support/eviction/status-writes.ts';

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

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
    await refuse(rig, name, set([B, A, LAST]), words);
    await refuse(rig, name, set([A, LAST]), words);
    await refuse(rig, name, set([A, B, 'c.example.com', LAST]), words);
    await refuse(rig, name, { targetInterceptors: null }, words);
    await refuse(rig, name, set([]), /should have at least 1 items|targetInterceptors is immutable/);
    await allow(rig, name, set(NAMES));
  });

  it('targetInterceptors are 15 at most, each once, and imperative-eviction.k8s.io is the last', async () => {
    const many = (count: number): string[] => [
      ...Array.from({ length: count - 1 }, (_, index) => `i-${index}.example.com`),
      LAST,
    ];
    await refuse(rig, await createRequest(rig), firstStatus(many(16)), /must have at most 15 items/);
    await refuse(rig, await createRequest(rig), firstStatus([A, A, LAST]), /Duplicate value/);
    const words = /the last of targetInterceptors must be imperative-eviction.k8s.io/;
    await refuse(rig, await createRequest(rig), firstStatus([LAST, A]), words);
    await refuse(rig, await createRequest(rig), firstStatus([A, B]), words);
    await allow(rig, await createRequest(rig), firstStatus(many(15)));
    await allow(rig, await createRequest(rig), firstStatus([LAST]));
  });

  it('targetInterceptors have fully qualified names, and in the reserved domains only those of the list', async () => {
    const words = /must be a fully qualified domain name in lower case/;
    await refuse(rig, await createRequest(rig), firstStatus(['single', LAST]), words);
    await refuse(rig, await createRequest(rig), firstStatus(['A.example.com', LAST]), words);
    const reserved = /k8s.io and kubernetes.io are reserved, and this name is not on the list of allowed names/;
    for (const each of ['evil.k8s.io', 'k8s.io', 'x.kubelet.k8s.io', 'kubernetes.io', 'a.kubernetes.io']) {
      await refuse(rig, await createRequest(rig), firstStatus([each, LAST]), reserved);
    }
    for (const each of ['kubelet.k8s.io', 'job.batch.k8s.io', 'evilk8s.io', 'k8s.io.example.com', 'a.x-k8s.io']) {
      await allow(rig, await createRequest(rig), firstStatus([each, LAST]));
    }
  });

  it('targetInterceptors cannot be set any more on a request that was canceled before', async () => {
    const name = await createRequest(rig);
    await allow(rig, name, { ...canceled, activeInterceptors: [], processedInterceptors: [] });
    const { targetInterceptors } = firstStatus(NAMES);
    await refuse(rig, name, { targetInterceptors }, /may not be set on a request that is Evicted or Canceled/);
  });
});

describe('activeInterceptors', () => {
  const words = /only the first of targetInterceptors can become active, and then the next, one after the other/;

  it('activeInterceptors begin with the first target interceptor', async () => {
    await refuse(rig, await createRequest(rig), { ...firstStatus(NAMES), activeInterceptors: [B] }, words);
    await refuse(
      rig,
      await createRequest(rig),
      { ...firstStatus(NAMES), activeInterceptors: ['c.example.com'] },
      words,
    );
    await refuse(rig, await createRequest(rig), { activeInterceptors: [A] }, words);
    const later = await createRequest(rig);
    await allow(rig, later, { ...firstStatus(NAMES), activeInterceptors: [] });
    await allow(rig, later, { activeInterceptors: [A] });
  });

  it('activeInterceptors has one entry at a time', async () => {
    await refuse(rig, await started(rig, NAMES), { activeInterceptors: [A, B] }, /must have at most 1 item/);
  });

  it('the turn passes to the next interceptor, never over one and never back', async () => {
    const name = await started(rig, NAMES);
    await refuse(rig, name, { activeInterceptors: [LAST], processedInterceptors: [A] }, words);
    await allow(rig, name, toB);
    await refuse(rig, name, { activeInterceptors: [A] }, words);
    await refuse(rig, name, { activeInterceptors: [A], processedInterceptors: [A, B] }, words);
    await allow(rig, name, toLast);
    await refuse(rig, name, { activeInterceptors: [B], processedInterceptors: [A, B, LAST] }, words);
  });

  it('activeInterceptors are cleared only when the last has completed, or when the request ends', async () => {
    const name = await started(rig, NAMES);
    const kept = /can be removed only when it is the last and has completed, or when the request is Evicted/;
    assertAllowed(await report(rig.admin, name, { name: A, completionTime: '2026-01-01T11:00:00Z' }));
    await refuse(rig, name, { activeInterceptors: [], processedInterceptors: [A] }, kept);
    await refuse(rig, name, { activeInterceptors: null, processedInterceptors: [A] }, kept);
    await allow(rig, name, toB);
    await allow(rig, name, toLast);
    const none = { activeInterceptors: [], processedInterceptors: NAMES };
    await refuse(rig, name, none, kept);
    const entries = (await read(rig.admin, name)).status?.interceptors ?? [];
    const completed = entries.map((entry) =>
      entry.name === LAST ? { ...entry, completionTime: '2026-01-01T11:00:00Z' } : entry,
    );
    await refuse(rig, name, { ...none, interceptors: completed }, kept);
    await completeLast(name);
    await allow(rig, name, none);
    await refuse(rig, name, { activeInterceptors: [LAST] }, words);
    const early = await started(rig, NAMES);
    await refuse(
      rig,
      early,
      { ...canceled, processedInterceptors: [A] },
      /no interceptor may be active in a request that is Evicted/,
    );
    await allow(rig, early, { ...canceled, activeInterceptors: [], processedInterceptors: [A] });
    await refuse(
      rig,
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
      rig,
      await createRequest(rig),
      { ...firstStatus(NAMES), activeInterceptors: [B], processedInterceptors: [A] },
      /no interceptor was active before/,
    );
    const name = await started(rig, NAMES);
    await refuse(rig, name, { processedInterceptors: [A] }, words);
    await refuse(rig, name, { processedInterceptors: [B] }, words);
    await refuse(rig, name, { activeInterceptors: [LAST], processedInterceptors: [A, B] }, words);
    await refuse(rig, name, { activeInterceptors: [B], processedInterceptors: [LAST] }, words);
    await allow(rig, name, toB);
  });

  it('processedInterceptors never lose an interceptor, nor miss one', async () => {
    const name = await started(rig, NAMES);
    await refuse(rig, name, { activeInterceptors: [B] }, /must be added to processedInterceptors/);
    const end = { ...evicted, activeInterceptors: [] };
    await refuse(rig, name, end, /an interceptor that is not active any more must be added to processedInterceptors/);
    await allow(rig, name, toB);
    await refuse(rig, name, { processedInterceptors: [] }, /processedInterceptors can only grow/);
    await refuse(rig, name, { processedInterceptors: null }, /processedInterceptors can only grow/);
    await allow(rig, name, { ...end, processedInterceptors: [A, B] });
  });
});

describe('conditions and observedGeneration', () => {
  it('the conditions Evicted and Canceled stay once they are True', async () => {
    for (const [end, other] of [
      [evicted, 'Canceled'],
      [canceled, 'Evicted'],
    ] as const) {
      const name = await started(rig, NAMES);
      await allow(rig, name, { ...end, activeInterceptors: [], processedInterceptors: [A] });
      const words = /Evicted and Canceled are final once True/;
      const [progressing, final] = end.conditions;
      await refuse(rig, name, { conditions: [progressing, { ...final, status: 'False' }] }, words);
      await refuse(rig, name, { conditions: [progressing] }, words);
      await refuse(rig, name, { conditions: null }, words);
      const touched = { ...final, lastTransitionTime: '2026-01-02T10:00:00Z' };
      await refuse(rig, name, { conditions: [progressing, touched] }, words);
      await refuse(rig, name, { conditions: [progressing, { ...final, reason: 'Other' }] }, words);
      const both = { conditions: [...end.conditions, conditionWith(other, 'True')] };
      await refuse(rig, name, both, /a request is either Evicted or Canceled, not both/);
      await allow(rig, name, { conditions: [...end.conditions, conditionWith('example.com/Seen', 'True')] });
    }
  });

  it('the conditions Evicted and Canceled may be False or Unknown first', async () => {
    const name = await started(rig, NAMES);
    await allow(rig, name, { conditions: [conditionWith('Evicted', 'False'), conditionWith('Canceled', 'False')] });
    await allow(rig, name, { ...evicted, activeInterceptors: [], processedInterceptors: [A] });
  });

  it('observedGeneration grows up to the generation, and never shrinks or disappears', async () => {
    const name = await started(rig, NAMES);
    const words = /observedGeneration may not decrease/;
    await refuse(rig, name, { observedGeneration: 0 }, words);
    await refuse(rig, name, { observedGeneration: null }, words);
    await refuse(rig, name, { observedGeneration: 2 }, /observedGeneration may not be ahead of metadata.generation/);
    const change = JSON.stringify({ spec: { requesters: [] } });
    await rig.controlPlane.kubectl(['patch', 'evreq', name, '--type=merge', '-p', change]);
    await allow(rig, name, { observedGeneration: 2 });
  });

  it('the conditions and observedGeneration cannot be lost with the whole status', async () => {
    const name = await started(rig, NAMES);
    await refuse(rig, name, null, /status may not be unset/);
    const { status }: EvictionRequest = await read(rig.admin, name);
    assert.equal(status?.observedGeneration, 1);
  });
});

describe('the entries of interceptors', () => {
  it('the entries of interceptors are as many as targetInterceptors, with the same names, and stay', async () => {
    const words = /interceptors must have the names of targetInterceptors, one entry each/;
    const entries = (...names: string[]): object => ({
      interceptors: names.map((each) => ({ name: each, message: '' })),
    });
    await refuse(rig, await createRequest(rig), { ...firstStatus(NAMES), ...entries(A, B) }, words);
    await refuse(rig, await createRequest(rig), { ...firstStatus(NAMES), ...entries(A, B, 'c.example.com') }, words);
    await refuse(rig, await createRequest(rig), entries(A), words);
    const name = await started(rig, NAMES);
    await refuse(rig, name, entries(A, B), words);
    await refuse(rig, name, { interceptors: [] }, words);
    await refuse(rig, name, { interceptors: null }, /interceptors may not be unset/);
    await refuse(rig, name, { interceptors: [{ name: A }, { name: B }, { name: LAST }] }, /message: Required value/);
  });

  it('an entry starts with a name and an empty message', async () => {
    const words = /a new entry may have only its name and an empty message/;
    const time = '2026-01-01T10:00:00Z';
    const began = [{ message: 'x' }, { completionTime: time }, { startTime: time, heartbeatTime: time }];
    for (const extra of [...began, { expectedFinishTime: time }]) {
      const status = firstStatus(NAMES);
      const [first, ...others] = status.interceptors ?? [];
      await refuse(
        rig,
        await createRequest(rig),
        { ...status, interceptors: [{ ...first, ...extra }, ...others] },
        words,
      );
    }
    const later = await createRequest(rig);
    await allow(rig, later, { ...firstStatus(NAMES), interceptors: null });
    const { interceptors = [] } = firstStatus(NAMES);
    await refuse(rig, later, { interceptors: interceptors.map((each) => ({ ...each, message: 'x' })) }, words);
    await allow(rig, later, { interceptors });
  });

  it('an entry changes only while its interceptor is active', async () => {
    const name = await started(rig, NAMES);
    const words = /only the entry of the interceptor in activeInterceptors can change/;
    assertRefused(await report(rig.admin, name, { name: B, message: 'early' }), words);
    assertAllowed(await report(rig.admin, name, { name: A, message: 'in time' }));
    await allow(rig, name, { activeInterceptors: [B], processedInterceptors: [A] });
    assertRefused(await report(rig.admin, name, { name: A, message: 'late' }), words);
    assertAllowed(await report(rig.admin, name, { name: B, message: 'in time' }));
    await allow(rig, name, {
      conditions: [conditionWith('Canceled', 'True')],
      activeInterceptors: [],
      processedInterceptors: [A, B],
    });
    assertRefused(await report(rig.admin, name, { name: B, message: 'late' }), words);
  });
});

describe('the times of an interceptor', () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 10) + second * 1000).toISOString();
  const says = async (name: string, fields: Readonly<Record<string, string>>): ReturnType<typeof report> =>
    await report(rig.admin, name, { name: A, ...fields });

  it('startTime and the first heartbeatTime come together', async () => {
    const name = await started(rig, NAMES);
    const words = /startTime and heartbeatTime are set together/;
    assertRefused(await says(name, { heartbeatTime: at(0) }), words);
    assertRefused(await says(name, { startTime: at(0) }), words);
    assertAllowed(await says(name, { startTime: at(0), heartbeatTime: at(0) }));
  });

  it('startTime never changes', async () => {
    const name = await started(rig, NAMES);
    assertAllowed(await says(name, { startTime: at(0), heartbeatTime: at(0) }));
    const words = /startTime.*startTime is immutable once set/;
    assertRefused(await says(name, { startTime: at(1), heartbeatTime: at(0) }), words);
    assertRefused(await says(name, { heartbeatTime: at(0) }), words);
    assertAllowed(await says(name, { startTime: at(0), heartbeatTime: at(0), message: 'the same' }));
  });

  it('heartbeatTime grows by a minute or more, and is never removed', async () => {
    const name = await started(rig, NAMES);
    const startTime = at(0);
    assertAllowed(await says(name, { startTime, heartbeatTime: at(0) }));
    const words = /heartbeatTime.*heartbeatTime can only grow, by at least 60 seconds/;
    assertRefused(await says(name, { startTime, heartbeatTime: at(1) }), words);
    assertRefused(await says(name, { startTime, heartbeatTime: at(59.999) }), words);
    assertRefused(await says(name, { startTime, heartbeatTime: at(-3600) }), words);
    assertRefused(await says(name, { startTime }), /heartbeatTime may not be unset/);
    assertRefused(await says(name, {}), /heartbeatTime may not be unset/);
    assertAllowed(await says(name, { startTime, heartbeatTime: at(60) }));
    assertRefused(await says(name, { startTime, heartbeatTime: 'soon' }), /must be of type date-time/);
  });

  it('expectedFinishTime may come, change and go', async () => {
    const name = await started(rig, NAMES);
    const beat = { startTime: at(0), heartbeatTime: at(0) };
    assertAllowed(await says(name, { ...beat, expectedFinishTime: at(600) }));
    assertAllowed(await says(name, { ...beat, expectedFinishTime: at(300) }));
    assertAllowed(await says(name, beat));
  });

  it('an interceptor may decline without a heartbeat, and its entry is frozen once it has completed', async () => {
    const name = await started(rig, NAMES);
    assertAllowed(await says(name, { completionTime: at(0), message: 'not mine' }));
    const words = /nothing may change once completionTime is set/;
    assertRefused(await says(name, { completionTime: at(1), message: 'not mine' }), words);
    assertRefused(await says(name, { completionTime: at(0), message: 'mine' }), words);
    assertRefused(await says(name, { message: 'not mine' }), words);
    const beat = { startTime: at(0), heartbeatTime: at(0) };
    assertRefused(await says(name, { ...beat, completionTime: at(0), message: 'not mine' }), words);
    assertAllowed(await says(name, { completionTime: at(0), message: 'not mine' }));
  });

  it('a message has up to 4096 characters', async () => {
    const name = await started(rig, NAMES);
    assertRefused(await says(name, { message: 'x'.repeat(4097) }), /may not be more than 4096/);
    assertAllowed(await says(name, { message: 'x'.repeat(4096) }));
  });
});
