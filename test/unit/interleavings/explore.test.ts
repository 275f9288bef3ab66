/** A small world is explored in every order; what never comes to rest, and what is wrong at rest, is found. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { CHECKOUT } from '../../chaos/product.ts';
import { withFault } from '../../chaos/faults.ts';
import { explore } from '../../interleavings/explore.ts';
import { readOwnFaults } from '../../interleavings/faults.ts';
import { Graph } from '../../interleavings/graph.ts';
import { loadProduct, type Product } from '../../interleavings/product.ts';
import { WORLDS } from '../../interleavings/worlds.ts';

const LIMITS = { states: 100_000, ms: 120_000, first: true };

/** A controller of which some loops do nothing. */
function withoutLoops(product: Product, names: readonly string[]): Product {
  return {
    loopsOf: (scope) => {
      const all = product.loopsOf(scope);
      return { ...all, loops: all.loops.filter(({ name }) => !names.includes(name)) };
    },
  };
}

describe('an exploration', () => {
  const small = WORLDS['cordon only'];
  assert.ok(small !== undefined);

  it('sees every state of a world in which a node is cordoned and the controller changes, and nothing is wrong', async () => {
    const { complete, found, atRest } = await explore(await loadProduct(CHECKOUT), small, LIMITS);
    assert.deepEqual(found, []);
    assert.ok(complete);
    assert.ok(atRest > 0);
  });

  it('finds that a controller without its loop over nodes leaves the node as it is', async () => {
    const product = withoutLoops(await loadProduct(CHECKOUT), ['nodes']);
    const { found } = await explore(product, small, LIMITS);
    assert.equal(found[0]?.finding.what, 'a node under maintenance is not cordoned');
    assert.ok(found[0].steps.some((step) => step.do === 'create maintenance'));
  });

  it('has worlds for its deliberate faults, whose texts are in the sources once', async () => {
    const faults = await readOwnFaults();
    assert.ok(faults.size >= 5);
    for (const { edits, worlds } of faults.values()) {
      assert.ok(worlds.every((name) => WORLDS[name] !== undefined));
      for (const edit of edits) withFault(await readFile(path.join(CHECKOUT, edit.file), 'utf8'), edit);
    }
  });
});

describe('the graph of an exploration', () => {
  it('finds the first state from which no way leads to rest', () => {
    const graph = new Graph();
    const first = graph.add(10);
    const { number: rest } = graph.connect(first, 11, 'ends');
    const { number: turn } = graph.connect(first, 12, 'turns');
    const { number: back } = graph.connect(turn, 13, 'and back');
    graph.connect(back, 12, 'turns');
    graph.rest(rest);
    assert.equal(graph.firstWithoutRest(), turn);
    assert.deepEqual(graph.wayTo(back), ['turns', 'and back']);
    graph.connect(back, 11, 'ends');
    assert.equal(graph.firstWithoutRest(), undefined);
  });
});
