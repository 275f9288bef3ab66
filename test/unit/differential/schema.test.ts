/** The values that are drawn from schemas: those that fit, and those just outside. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { configJsonSchema } from '../../../src/config/json-schema.ts';
import { CHECKOUT } from '../../chaos/product.ts';
import { createRandom } from '../../chaos/random.ts';
import { drawFitting, wordsFor } from '../../differential/schema/fitting.ts';
import { breakersOf, drawOutside } from '../../differential/schema/outside.ts';
import { type Schema, typesOf, withoutReferences } from '../../differential/schema/schema.ts';
import { part, schemaOf, violations } from '../../fuzz/schema.ts';

const CHART = path.join(CHECKOUT, 'manifests', 'chart', 'values.schema.json');
const SCHEMAS: Readonly<Record<string, Schema>> = {
  maintenance: part(schemaOf('nodemaintenance'), 'spec'),
  request: part(schemaOf('evictionrequest'), 'spec'),
  configuration: configJsonSchema(),
  chart: withoutReferences(JSON.parse(readFileSync(CHART, 'utf8'))) as Schema,
};
const OPTIONS = { unknownKeys: false };

/** The schemas of all texts in a schema. */
function textsIn(schema: Schema): readonly Schema[] {
  const { properties = {}, items, additionalProperties } = schema;
  const inner = [...Object.values(properties), items, additionalProperties].filter((each) => typeof each === 'object');
  const isText = typesOf(schema).includes('string') && schema.enum === undefined && schema.const === undefined;
  return [...(isText ? [schema] : []), ...inner.flatMap(textsIn)];
}

describe('values that are drawn from a schema', () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    it(`each text of the schema of the ${name} has a known word`, () => {
      const without = textsIn(schema).filter((each) => wordsFor(each).length === 0);
      assert.deepEqual(without, []);
    });
  }

  for (const name of ['maintenance', 'request'] as const) {
    const schema = SCHEMAS[name] ?? {};
    it(`values for a ${name} fit its schema, and those just outside do not`, () => {
      for (let seed = 1; seed <= 300; seed += 1) {
        const random = createRandom(seed);
        const value = drawFitting(schema, random);
        assert.deepEqual(violations(schema as never, value, 'spec'), []);
        const bad = drawOutside(schema, value, OPTIONS, random);
        assert.notDeepEqual(violations(schema as never, bad.value, 'spec'), [], `${bad.rule} of ${bad.path.join('.')}`);
      }
    });
  }

  it('there is a value outside of each bound, with the place and the rule that it breaks', () => {
    const schema: Schema = {
      type: 'object',
      required: ['count'],
      additionalProperties: false,
      properties: {
        count: { type: 'integer', minimum: 1, maximum: 3 },
        list: { type: 'array', maxItems: 2, items: { type: 'string', enum: ['a'] } },
      },
    };
    const random = createRandom(1);
    const broken = breakersOf(schema, [], { unknownKeys: true }).map((way) => way({ count: 1 }, random));
    const said = broken.map(({ path: place, rule }) => `${place.join('.')} ${rule}`);
    const ofObject = ' type, count required, noSuchKey additionalProperties';
    const ofCount = 'count type, count type, count minimum, count maximum';
    const ofList = 'list type, list maxItems, list.0 type, list.0 enum';
    assert.equal(said.join(', '), [ofObject, ofCount, ofList].join(', '));
    const above = broken.find(({ rule }) => rule === 'maximum');
    assert.deepEqual(above?.value, { count: 4 });
  });
});
