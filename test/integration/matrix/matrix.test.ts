/** How pods leave, crossed with how their drain ends, in both dialects: what is left, what is asked twice, what waits in silence. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CELLS, chooseCells, DIALECTS } from './cells.ts';
import { runBystanders } from './bystanders.ts';
import { complaintOf, playAll, type Played, tableOf } from './company.ts';
import type { Place } from './place.ts';
import { buildMatrixRig, type MatrixRig } from './rig.ts';

describe('every way to leave, crossed with every end of a drain', () => {
  const { cells, why } = chooseCells();
  const stopping = new AbortController();
  const places: Place[] = [];
  const all: Played[] = [];
  const begun = performance.now();
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
    const wrong = all.filter(({ found }) => found.length > 0).length;
    const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
    console.log(`${tableOf(all)}\n${all.length} cells played, ${wrong} wrong, ${seconds} s in all`);
  });

  for (const dialect of DIALECTS.filter((each) => cells.some((cell) => cell.dialect === each))) {
    it(`nothing is left, nothing is asked twice, and nothing waits in silence in the ${dialect} dialect`, async () => {
      const played = await playAll(
        rig,
        dialect,
        cells.filter((cell) => cell.dialect === dialect),
        places,
      );
      all.push(...played);
      const wrong = played.filter(({ found }) => found.length > 0).map(complaintOf);
      assert.equal(wrong.join('\n'), '');
    });
  }
});
