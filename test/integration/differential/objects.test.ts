/** Changes of the custom resources, allowed and refused, on a real API server; `npm run differential -- --of objects` plays others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawMaintenance } from '../../differential/objects/maintenance.ts';
import { playReal } from '../../differential/objects/real.ts';
import { drawRequest } from '../../differential/objects/request.ts';
import { Tally } from '../../differential/tally.ts';
import { buildAdmissionRig } from '../../support/rigs/admission.ts';

describe('changes that are drawn from the schemas', () => {
  it('what is refused changes nothing and can be taken back, and the rest ends as the last object alone', async () => {
    await using rig = await buildAdmissionRig();
    const tally = new Tally();
    await playReal(rig.admin, [drawMaintenance, drawRequest], { sequences: 20, seed: 1 }, tally);
    assert.deepEqual(tally.finds, []);
    assert.ok(tally.refused > 30 && tally.allowed > 60, tally.line());
  });
});
