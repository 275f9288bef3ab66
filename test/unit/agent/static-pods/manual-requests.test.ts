import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualRequests } from '../../../../src/agent/static-pods/manual-requests.ts';
import type { StaticPodView } from '../../../../src/agent/static-pods/view.ts';
import { MANUAL } from '../../../../src/decide/static-pod/parked.ts';

const POD = { file: 'web.yaml', namespace: 'default', podName: 'web-n' } as never;
const NONE: StaticPodView = { inPlace: [], ended: [], parked: [], live: undefined };
const IN_PLACE: StaticPodView = { ...NONE, inPlace: [POD] };
const PARKED: StaticPodView = { ...NONE, parked: [POD] };

describe('the requests of a person about static pods', () => {
  it('a park adds the pod to those that leave, until its manifest is gone', () => {
    const manual = new ManualRequests();
    manual.park('web.yaml');
    assert.equal(manual.withParks(IN_PLACE, new Map()).get('default/web-n')?.maintenance, MANUAL);
    assert.equal(manual.settle(IN_PLACE), true);
    assert.equal(manual.settle(PARKED), false);
    assert.equal(manual.withParks(IN_PLACE, new Map()).size, 0);
  });

  it('a park does not replace the maintenance for which the pod leaves anyway', () => {
    const manual = new ManualRequests();
    manual.park('web.yaml');
    const leave = new Map([['default/web-n', { maintenance: 'm', reason: 'update' }]]);
    assert.deepEqual(manual.withParks(IN_PLACE, leave), leave);
  });

  it('a restore takes back a park, and is wanted until the manifest is in place', () => {
    const manual = new ManualRequests();
    manual.park('web.yaml');
    manual.restore('web.yaml');
    assert.equal(manual.withParks(IN_PLACE, new Map()).size, 0);
    assert.equal(manual.isWanted(POD), true);
    assert.equal(manual.settle(PARKED), true);
    assert.equal(manual.settle(IN_PLACE), false);
    assert.equal(manual.isWanted(POD), false);
  });

  it('no request is settled while the directories are refused', () => {
    const manual = new ManualRequests();
    manual.park('web.yaml');
    assert.equal(manual.settle({ ...NONE, refusal: 'not trusted' }), true);
  });
});
