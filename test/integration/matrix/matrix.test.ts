/** How pods leave, crossed with how their drain ends: what is left, what is asked twice, what waits in silence. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CELLS, chooseCells } from './cells.ts';
import { runBystanders } from './bystanders.ts';
import { complaintOf, playAll, tableOf } from './company.ts';
import type { Place } from './place.ts';
import { buildMatrixRig, type MatrixRig } from './rig.ts';

describe('every way to leave, crossed with every end of a drain', () => {
  const { cells, why } = chooseCells();
  const stopping = new AbortController();
  const places: Place[] = [];
  let rig: MatrixRig;
  let bystanders: Promise<void>;

  before(async () => {
    console.log(`${cells.length} of ${CELLS.length} cells: ${why}`);
    rig = await buildMatrixRig();
    bystanders = runBystanders(places, stopping.signal);
  });

  after(async () => {
    stopping.abort();
    await bystanders;
    await rig[Symbol.asyncDispose]();
  });

  it('nothing is left, nothing is asked twice, and nothing waits in silence', async () => {
    const played = await playAll(rig, cells, places);
    console.log(tableOf(played));
    const wrong = played.filter(({ found }) => found.length > 0).map(complaintOf);
    assert.equal(wrong.join('\n'), '');
  });
});
