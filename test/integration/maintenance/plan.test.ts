import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { DrainPlanEntry } from '../../../src/api/node-maintenance.ts';
import { effectiveDrainPlan, POD_TYPES } from '../../../src/decide/maintenance/drain-plan.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import { withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { type AdmissionRig, assertRefused, buildAdmissionRig } from '../../support/rigs/admission.ts';
import { createMaintenance, specOf } from '../../support/maintenance/calls.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';

let rig: AdmissionRig;
before(async () => {
  rig = await buildAdmissionRig();
});
after(async () => {
  await rig[Symbol.asyncDispose]();
});

describe('a NodeMaintenance with bad input', () => {
  const entry = (podType: string, podPriority: unknown, matchLabels?: object): object => ({
    podType,
    podPriority,
    ...(matchLabels === undefined ? {} : { podSelector: { matchLabels } }),
  });
  const order = /drainPlan is out of order: first podType Default, then DaemonSet, then Static; of the same podType/;
  const twice = /drainPlan has duplicate entries: the same podType, podPriority and podSelector may occur only once/;
  const term = (requirement: object): object => ({
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] },
  });
  const field = (requirement: object): object => ({
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [requirement] }] },
  });
  const cases: readonly [string, object, RegExp][] = [
    ['no nodeSelector', { nodeSelector: undefined }, /spec.nodeSelector: Required value/],
    ['a nodeSelector without terms', { nodeSelector: {} }, /nodeSelectorTerms: Required value/],
    ['no term', { nodeSelector: { nodeSelectorTerms: [] } }, /nodeSelectorTerms in body should have at least 1 items/],
    [
      'an empty term',
      { nodeSelector: { nodeSelectorTerms: [{}] } },
      /nodeSelectorTerms\[0\]: Required value: an empty term selects no node: it needs matchExpressions or matchFields/,
    ],
    [
      'an empty term beside a good one',
      { nodeSelector: { nodeSelectorTerms: [...byName('node-a').nodeSelectorTerms, { matchFields: [] }] } },
      /nodeSelectorTerms\[1\]: Required value: an empty term selects no node/,
    ],
    [
      'an unknown operator',
      term({ key: 'zone', operator: 'Equals', values: ['a'] }),
      /operator: Unsupported value: "Equals": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"/,
    ],
    [
      'In without values',
      term({ key: 'zone', operator: 'In' }),
      /values: Required value: the operators In and NotIn need/,
    ],
    [
      'Exists with values',
      term({ key: 'zone', operator: 'Exists', values: ['a'] }),
      /values: Forbidden: the operators Exists and DoesNotExist take no values/,
    ],
    [
      'Gt with a word',
      term({ key: 'cores', operator: 'Gt', values: ['many'] }),
      /values: Invalid value: .*the operators Gt and Lt need one value, an integer/s,
    ],
    ['a key that no label has', term({ key: 'a zone', operator: 'Exists' }), /key: Invalid value: "a zone"/],
    [
      'another field than the name',
      field({ key: 'spec.podCIDR', operator: 'In', values: ['a'] }),
      /key: Unsupported value: "spec.podCIDR": supported values: "metadata.name"/,
    ],
    [
      'a field that exists',
      field({ key: 'metadata.name', operator: 'Exists', values: ['a'] }),
      /operator: Unsupported value: "Exists": supported values: "In", "NotIn"/,
    ],
    ['no name of a node', field({ key: 'metadata.name', operator: 'In', values: [] }), /should have at least 1 items/],
    [
      'an unknown stage',
      { stage: 'Reboot' },
      /spec.stage: Unsupported value: "Reboot": supported values: "Idle", "Cordon"/,
    ],
    [
      'an unknown podType',
      { drainPlan: [entry('Pod', 1)] },
      /drainPlan\[0\].podType: Unsupported value: "Pod": supported values: "Default", "DaemonSet", "Static"/,
    ],
    ['no podPriority', { drainPlan: [{ podType: 'Default' }] }, /drainPlan\[0\].podPriority: Required value/],
    ['a podPriority in words', { drainPlan: [entry('Default', 'high')] }, /podPriority: Invalid value: "string"/],
    [
      'a podPriority beyond int32',
      { drainPlan: [entry('Default', 2 ** 31)] },
      /drainPlan\[0\].podPriority: .* should be less than or equal to 2147483647/,
    ],
    ['types out of order', { drainPlan: [entry('DaemonSet', 1), entry('Default', 2)] }, order],
    ['static pods before DaemonSets', { drainPlan: [entry('Static', 1), entry('DaemonSet', 2)] }, order],
    ['falling priorities', { drainPlan: [entry('Default', 2), entry('Default', 1)] }, order],
    ['falling priorities at the end', { drainPlan: [1, 2, 3, 5, 4].map((each) => entry('Static', each)) }, order],
    ['a selector after none', { drainPlan: [entry('Default', 1), entry('Default', 1, { a: 'b' })] }, order],
    ['an entry twice', { drainPlan: [entry('Default', 1), entry('Default', 1)] }, twice],
    ['a default entry twice', { drainPlan: [entry('Static', 1e9), entry('Static', 1e9)] }, twice],
    [
      'a selector twice, with another between',
      { drainPlan: [{ a: 'b', c: 'd' }, { a: 'x' }, { c: 'd', a: 'b' }].map((each) => entry('Default', 1, each)) },
      twice,
    ],
    [
      'a podSelector with an unknown operator',
      { drainPlan: [{ ...entry('Default', 1), podSelector: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } }] },
      /operator: Unsupported value: "Gt": supported values: "In", "NotIn", "Exists", "DoesNotExist"/,
    ],
    [
      'more than 100 entries',
      { drainPlan: Array.from({ length: 101 }, (_, each) => entry('Default', each)) },
      /spec.drainPlan: Too many: \d+: must have at most 100 items/,
    ],
    ['a reason of 1 MB', { reason: 'x'.repeat(1_000_000) }, /spec.reason: Too long: may not be more than 4096/],
    ['a reason that is a number', { reason: 5 }, /spec.reason: Invalid value: "integer"/],
  ];
  for (const [what, spec, words] of cases) {
    it(`the API server refuses it with the reason: ${what}`, async () => {
      assertRefused(await createMaintenance(rig.admin, maintenanceOf({ ...spec }), 'dryRun'), words);
    });
  }

  it('an entry without a podType is one of the type Default', async () => {
    const { drainPlan = [] } = specOf(
      await createMaintenance(rig.admin, maintenanceOf({ drainPlan: [{ podPriority: 1 }] }), 'dryRun'),
    );
    assert.deepEqual(drainPlan[0], { podType: 'Default', podPriority: 1 });
  });

  it('kubectl points out an unknown field', async () => {
    const body = JSON.stringify(maintenanceOf({ drainplan: [] }));
    await assert.rejects(
      rig.controlPlane.kubectl(['create', '--dry-run=server', '-f', '-'], body),
      /unknown field "spec.drainplan"/,
    );
  });

  it('one maintenance is made where two of the same name are made at once, and the other caller is told', async () => {
    const body = maintenanceOf();
    const answers = await Promise.all([createMaintenance(rig.admin, body), createMaintenance(rig.admin, body)]);
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    assert.deepEqual(statuses, [201, 409]);
    const lost = answers.find(({ status }) => status === 409);
    assert.match(lost === undefined ? '' : statusMessage(lost), /already exists/);
  });
});

describe('the plan of a new NodeMaintenance', () => {
  const skip = withoutMutatingPolicies('no default entries are injected');
  const priorities = [1e9, 2e9, 2_000_001_000, 2_147_483_647];
  /** Near the default entries, and anywhere. */
  const podPriority = fc.oneof(
    fc.constantFrom(...priorities.flatMap((each) => [each - 1, each, Math.min(each + 1, 2_147_483_647)])),
    fc.constantFrom(-2_147_483_648, -1, 0),
    fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
  );
  const podSelector = fc.constantFrom(
    undefined,
    {},
    { matchLabels: { app: 'a' } },
    { matchLabels: { app: 'b' } },
    { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  );
  const plans = fc
    .uniqueArray(fc.record({ podType: fc.constantFrom(...POD_TYPES), podPriority, podSelector }), {
      maxLength: 20,
      selector: (entry) => JSON.stringify(entry),
    })
    .map((entries) =>
      entries
        .map(
          ({ podSelector: selector, ...entry }): DrainPlanEntry =>
            selector === undefined ? entry : { ...entry, podSelector: selector },
        )
        .toSorted(
          (a, b) =>
            POD_TYPES.indexOf(a.podType) - POD_TYPES.indexOf(b.podType) ||
            a.podPriority - b.podPriority ||
            Number(a.podSelector === undefined) - Number(b.podSelector === undefined),
        ),
    );

  it('the plan has the default entries injected exactly as the controller resolves it, whatever the plan', {
    skip,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (drainPlan) => {
        const answer = await createMaintenance(rig.admin, maintenanceOf({ drainPlan }), 'dryRun');
        assert.deepEqual(specOf(answer).drainPlan, effectiveDrainPlan(drainPlan));
      }),
      { numRuns: 300 },
    );
  });

  it('the plan is the twelve default entries where none is given', { skip }, async () => {
    const answer = await createMaintenance(rig.admin, maintenanceOf(), 'dryRun');
    assert.deepEqual(specOf(answer).drainPlan, effectiveDrainPlan([]));
  });

  it('the injection never sorts the plan: a plan out of order stays so and is refused', { skip }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(), fc.nat(), async (plan, from, to) => {
        const moved = [...plan];
        const [entry] = moved.splice(from % Math.max(1, plan.length), 1);
        if (entry !== undefined) moved.splice(to % plan.length, 0, entry);
        const answer = await createMaintenance(rig.admin, maintenanceOf({ drainPlan: moved }), 'dryRun');
        const own = moved.map((each) => JSON.stringify(each));
        const resolved = effectiveDrainPlan(moved).map((each) => JSON.stringify(each));
        const sameOrder = resolved.filter((each) => own.includes(each)).join() === own.join();
        if (sameOrder) assert.deepEqual(specOf(answer).drainPlan, effectiveDrainPlan(moved));
        else assert.match(statusMessage(answer), /drainPlan is out of order/);
      }),
      { numRuns: 200 },
    );
  });

  it('the plan may have 100 entries with the injected ones', { skip }, async () => {
    const own = Array.from({ length: 88 }, (_, each) => ({ podType: 'Default', podPriority: each }));
    const answer = await createMaintenance(rig.admin, maintenanceOf({ drainPlan: own }), 'dryRun');
    assert.equal(specOf(answer).drainPlan?.length, 100);
    const more = [...own, { podType: 'Default', podPriority: 88 }];
    const refused = await createMaintenance(rig.admin, maintenanceOf({ drainPlan: more }), 'dryRun');
    assertRefused(refused, /spec.drainPlan: Too many: 101: must have at most 100 items/);
  });
});
