import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecentWrites } from '../../../src/kube/read-your-writes.ts';

interface Thing {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
}

const thing = (resourceVersion: string, uid = 'u'): Thing => ({ metadata: { name: 'a', uid, resourceVersion } });

/** What is known of an object that was written at `written`, decided on at `decidedOn`, when the cache has `copy`. */
function latest(decidedOn: Thing | undefined, written: Thing, copy: Thing | undefined): string | undefined {
  const writes = createRecentWrites<Thing>();
  writes.note('a', decidedOn, written);
  return writes.latest('a', copy)?.metadata.resourceVersion;
}

describe('The recent writes', () => {
  it('stand for a copy that was decided on, and for a later one from before the write', () => {
    assert.equal(latest(thing('98'), thing('105'), thing('98')), '105');
    assert.equal(latest(thing('98'), thing('105'), thing('100')), '105');
    assert.equal(latest(thing('100'), thing('105'), thing('104')), '105');
  });
  it('give way to a copy as new as the write, or newer', () => {
    assert.equal(latest(thing('98'), thing('105'), thing('105')), '105');
    assert.equal(latest(thing('98'), thing('105'), thing('106')), '106');
    assert.equal(latest(thing('98'), thing('999'), thing('1000')), '1000');
  });
  it('give way to a copy that the watch brought before the answer to the write', () => {
    assert.equal(latest(thing('106'), thing('105'), thing('106')), '106');
    assert.equal(latest(thing('106', 'v'), thing('105'), thing('106', 'v')), '105');
  });
  it('give way to another object of that name, and to a deletion', () => {
    assert.equal(latest(thing('98'), thing('105'), thing('100', 'v')), '100');
    assert.equal(latest(thing('98'), thing('105'), undefined), undefined);
  });
  it('give way to a copy from before the decision, as of an API server that was restored from a backup', () => {
    assert.equal(latest(thing('98'), thing('105'), thing('97')), '97');
  });
  it('stand for no copy where there was none, until there is one', () => {
    assert.equal(latest(undefined, thing('105'), undefined), '105');
    assert.equal(latest(undefined, thing('105'), thing('104')), '104');
  });
  it('give way to each other copy where versions are no numbers', () => {
    assert.equal(latest(thing('x'), thing('z'), thing('x')), 'z');
    assert.equal(latest(thing('x'), thing('z'), thing('y')), 'y');
  });
});
