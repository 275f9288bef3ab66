/** Sequences of changes of the agent's configuration: the product as it is, and with deliberate faults. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHECKOUT } from '../../chaos/product.ts';
import { playFault, readFaults } from '../../differential/faults.ts';
import { playConfigurations } from '../../differential/configuration/play.ts';
import { loadConfigurationProduct } from '../../differential/configuration/product.ts';
import { Tally } from '../../differential/tally.ts';

describe('sequences of changes of the configuration', () => {
  it('the configuration is that of the last files alone, and a refusal leaves nothing and says file, line and key', async () => {
    const tally = new Tally();
    await playConfigurations(await loadConfigurationProduct(CHECKOUT), { sequences: 15, seed: 1 }, tally);
    assert.deepEqual(tally.finds, []);
    assert.ok(tally.allowed > 50 && tally.refused > 30, tally.line());
  });

  for (const expected of ['last alone', 'taken back', 'message'] as const) {
    it(`the oracle "${expected}" finds a deliberate fault`, async () => {
      const faults = [...(await readFaults('configuration')).values()].filter(({ oracle }) => oracle === expected);
      assert.equal(faults.length, 1);
      for (const fault of faults) assert.notEqual((await playFault(fault, 1)).length, 0, fault.name);
    });
  }
});
