import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SelectorRequirement } from '../../../src/api/meta.ts';
import { labelSelectorMatches, nodeSelectorMatches } from '../../../src/decide/selector.ts';

type Row = readonly [
  operator: SelectorRequirement['operator'],
  values: readonly string[] | undefined,
  label: string | undefined,
  matches: boolean,
];

const MAX_INT64 = '9223372036854775807';

const rows: readonly Row[] = [
  ['In', ['a', 'b'], 'b', true],
  ['In', ['a'], undefined, false],
  ['In', Array.from({ length: 40 }, (_, at) => `v-${at}`), 'v-39', true],
  ['In', Array.from({ length: 40 }, (_, at) => `v-${at}`), 'v-40', false],
  ['NotIn', Array.from({ length: 40 }, (_, at) => `v-${at}`), 'v-39', false],
  ['NotIn', ['a'], undefined, true],
  ['NotIn', ['a'], 'a', false],
  ['Exists', undefined, '', true],
  ['Exists', undefined, undefined, false],
  ['DoesNotExist', undefined, undefined, true],
  ['DoesNotExist', undefined, '', false],
  ['Gt', ['5'], '6', true],
  ['Gt', ['5'], '5', false],
  ['Gt', ['-5'], '-4', true],
  ['Gt', ['9'], '10', true],
  ['Gt', ['5'], '1e3', false],
  ['Gt', ['5'], '7.5', false],
  ['Gt', ['5'], '0x10', false],
  ['Gt', ['5'], undefined, false],
  ['Gt', ['5', '1'], '6', false],
  ['Gt', [], '6', false],
  ['Gt', ['9223372036854775806'], MAX_INT64, true],
  ['Gt', ['5'], '9223372036854775808', false],
  ['Gt', ['5'], '9'.repeat(5_000), false],
  ['Lt', ['1'], '0', true],
  ['Lt', ['1'], '', false],
  ['Lt', ['1'], ' 0', false],
  ['Lt', [''], '-1', false],
];

describe('a selector', () => {
  for (const [operator, values, label, matches] of rows) {
    const shown = `${operator} ${(values ?? []).join(', ').slice(0, 30)}`;
    it(`a selector with ${shown} ${matches ? 'selects' : 'does not select'} the value ${label?.slice(0, 30) ?? 'of no label'}`, () => {
      const requirement = { key: 'k', operator, ...(values === undefined ? {} : { values }) };
      const labels = label === undefined ? {} : { k: label };
      assert.equal(labelSelectorMatches({ matchExpressions: [requirement] }, labels), matches);
      const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
      assert.equal(nodeSelectorMatches(nodeSelector, { name: 'n', labels }), matches);
    });
  }

  for (const key of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    it(`a selector of the key ${key} does not select an object without this label`, () => {
      assert.equal(labelSelectorMatches({ matchExpressions: [{ key, operator: 'Exists' }] }, {}), false);
      assert.equal(labelSelectorMatches({ matchExpressions: [{ key, operator: 'DoesNotExist' }] }, {}), true);
      const labels = JSON.parse(`{"${key}": "x"}`) as Record<string, string>;
      assert.equal(labelSelectorMatches({ matchExpressions: [{ key, operator: 'Exists' }] }, labels), true);
    });
  }
});
