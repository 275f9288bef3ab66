import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node } from '../../../../src/api/pod.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { createDrainObserver } from '../../../../src/controller/maintenance/observer.ts';
import { parseRebootLimit } from '../../../../src/decide/reboot/limit.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { indexesOf } from '../../../support/maintenance/indexes.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

/** Whether the controller says that budgets are not asked on n1, which goes down, beside other machines. */
function saidOf(own: string, others: Readonly<Record<string, string>>): boolean {
  const clock = createSteppingClock();
  const nodes = ['n1', ...Object.keys(others)].map(
    (name): Node => ({ metadata: { name }, status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
  );
  const shutdown = (node: string, kind: string): NodeMaintenance => ({
    ...ownMaintenanceOf(node, {
      ...(kind === 'person' ? { labels: {} } : {}),
      annotations: kind === '' ? {} : { [SHUTDOWN_KIND_ANNOTATION]: kind },
    }),
    status: { nodeStatuses: [{ nodeRef: { name: node }, drainStartTime: rfc3339(clock.now()) }] },
  });
  const going = Object.entries(others).filter(([, kind]) => kind !== 'stays');
  const maintenances = [shutdown('n1', own), ...going.map(([node, kind]) => shutdown(node, kind))];
  const options = { maxParallelReboots: parseRebootLimit('100%'), maxVolumeTime: 0 };
  const context = { clock, options, ungated: { on: () => [] }, ...indexesOf({ nodes, maintenances }, clock) };
  const [first] = maintenances;
  const observed = createDrainObserver(context as unknown as ControllerContext).observe(
    first ?? assert.fail(),
    clock.now(),
  );
  return observed.status.nodeStatuses?.[0]?.budgetsNotAsked === true;
}

describe('the budgets of pods of a machine that goes down', () => {
  const cases: readonly [string, string, Readonly<Record<string, string>>, boolean][] = [
    ['the only node is switched off', 'poweroff', {}, true],
    ['the only node reboots', 'reboot', {}, true],
    ['all are switched off together', 'poweroff', { n2: 'poweroff', n3: 'halt' }, true],
    ['one of them reboots', 'poweroff', { n2: 'poweroff', n3: 'reboot' }, false],
    ['how one of them goes down is not known', 'poweroff', { n2: 'poweroff', n3: '' }, false],
    ['another one stays', 'reboot', { n2: 'poweroff', n3: 'stays' }, false],
    ['another one is only drained by a person', 'poweroff', { n2: 'person' }, false],
  ];
  for (const [what, own, others, isNotAsked] of cases) {
    it(`budgets are ${isNotAsked ? 'not ' : ''}asked where ${what}`, () => {
      assert.equal(saidOf(own, others), isNotAsked);
    });
  }

  it('budgets are asked for a drain of a person, on the only node, too', () => {
    assert.equal(saidOf('person', {}), false);
  });
});
