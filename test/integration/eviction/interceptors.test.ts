import { after, before, describe, it } from 'node:test';
import {
  type AdmissionRig,
  assertAllowed,
  assertRefused,
  buildAdmissionRig,
  conditionWith,
  createRequest,
  firstStatus,
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
