import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MACHINE_HOOK } from '../../../../../src/addons/cluster-api/decide/machine-hook.ts';
import { decideHooks } from '../../../../../src/addons/cluster-api/decide/machines.ts';
import type { Machine } from '../../../../../src/api/machine.ts';
import type { Node } from '../../../../../src/api/pod.ts';
import { drainOf } from '../../../../support/maintenance/objects.ts';

/** A node that names this Machine in its annotations. */
function node(name: string, machine?: string): Node {
  return { metadata: { name, ...(machine === undefined ? {} : { annotations: { machine } }) } };
}

function machine(name: string, of?: string, isHooked = false): Machine {
  const annotations = isHooked ? { [MACHINE_HOOK]: 'nodemaint' } : {};
  const status = of === undefined ? {} : { nodeRef: { name: of } };
  return { metadata: { name, namespace: 'c', annotations }, status };
}

/** The changes as words, and the refusals. */
function told(
  nodes: readonly Node[],
  machines: readonly Machine[],
  drained: readonly string[],
): { changes: readonly string[]; refusals: readonly string[] } {
  const namedBy = ({ metadata }: Node): string | undefined => metadata.annotations?.['machine'];
  const maintenances = drained.length === 0 ? [] : [drainOf('d', drained)];
  const { changes, refusals } = decideHooks({ nodes, maintenances, machines, namedBy });
  return { changes: changes.map(({ kind, machine: { metadata } }) => `${kind} ${metadata.name}`), refusals };
}

describe('the Machines that get a hook', () => {
  it('the Machine whose status names a node that is drained gets a hook, whatever the node names', () => {
    const nodes = [node('n1'), node('n2')];
    const machines = [machine('m1', 'n1'), machine('m2', 'n2'), machine('m3')];
    assert.deepEqual(told(nodes, machines, ['n1']), { changes: ['hook m1'], refusals: [] });
  });

  it('a Machine loses its hook when its node is not drained any more, or is gone', () => {
    const machines = [machine('m1', 'n1', true), machine('m2', 'gone', true), machine('m3', undefined, true)];
    const expected = ['unhook m1', 'unhook m2', 'unhook m3'];
    assert.deepEqual(told([node('n1')], machines, []), { changes: expected, refusals: [] });
  });

  it('a node that names the Machine of another node neither gets it nor takes it from that node', () => {
    const nodes = [node('n1', 'c/m1'), node('n2', 'c/m1')];
    const refusals = [
      'node n2 names the Machine c/m1, but the Machine names the node n1: it does not wait for node n2',
    ];
    assert.deepEqual(told(nodes, [machine('m1', 'n1')], ['n1', 'n2']), { changes: ['hook m1'], refusals });
    assert.deepEqual(told(nodes, [machine('m1', 'n1', true)], ['n1', 'n2']), { changes: [], refusals });
    assert.deepEqual(told(nodes, [machine('m1', 'n1', true)], ['n2']), { changes: ['unhook m1'], refusals });
  });

  it('a node that names a Machine without a node, or one that does not exist, gets none', () => {
    const refusals = ['node n1 names the Machine c/m1, but the Machine names no node: it does not wait for node n1'];
    assert.deepEqual(told([node('n1', 'c/m1')], [machine('m1')], ['n1']), { changes: [], refusals });
    assert.deepEqual(told([node('n1', 'c/m9')], [machine('m1')], ['n1']), { changes: [], refusals: [] });
  });

  it('of two Machines that name one node none gets a hook, and one that was there is taken back', () => {
    const machines = [machine('m1', 'n1', true), machine('m2', 'n1')];
    const refusals = ['the Machines c/m1, c/m2 all name the node n1: none of them waits for its drain'];
    assert.deepEqual(told([node('n1')], machines, ['n1']), { changes: ['unhook m1'], refusals });
    assert.deepEqual(told([node('n1')], machines, []), { changes: ['unhook m1'], refusals: [] });
  });
});
