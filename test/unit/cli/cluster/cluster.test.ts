import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseNodes, parseTarget } from '../../../../src/cli/cluster/cluster.ts';

describe('the names on the command line', () => {
  it('names of nodes are taken as kubectl takes them', () => {
    assert.deepEqual(parseNodes(['node/b', 'a', 'nodes/b', 'no/a']), ['a', 'b']);
    assert.deepEqual(parseTarget('nm/x'), { kind: 'maintenance', name: 'x' });
    for (const bad of ['', 'a b', '-a', 'pod/a', 'node/', 'A', '../x'])
      assert.throws(() => parseTarget(bad), { code: 'USAGE' });
    assert.throws(() => parseNodes(['nm/a']), { code: 'USAGE' });
  });
});
