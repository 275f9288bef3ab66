import { decideHooks } from '../../../../src/addons/cluster-api/decide/machines.ts';
import type { Machine } from '../../../../src/api/machine.ts';
import { describeMachineDeletion } from '../../../../src/show/preview/machine-deletion.ts';
import { mutatedJson } from '../../mutate.ts';
import { assertFinite, type FuzzTarget, objectIn, textTarget } from '../../target.ts';

const TIME = '2026-07-01T12:00:00Z';

/** What a Machine of Cluster API says. */
export const TARGETS: readonly FuzzTarget[] = [
  textTarget('machines', mutatedJson({ nodeRef: { name: 'n1' }, phase: 'Running', conditions: [] }), (text) => {
    const status = objectIn(text);
    const machine = {
      metadata: { name: 'm', namespace: 'a', resourceVersion: '1' },
      ...(status && { status }),
    } as Machine;
    const node = { metadata: { name: 'n1' } };
    assertFinite(decideHooks({ nodes: [node], maintenances: [], machines: [machine], namedBy: () => 'a/m' }), 'hooks');
    const deleted = { ...machine, metadata: { ...machine.metadata, deletionTimestamp: TIME } };
    describeMachineDeletion(deleted, 'n1');
  }),
];
