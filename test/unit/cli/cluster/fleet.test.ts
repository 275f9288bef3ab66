import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import { readFleet } from '../../../../src/cli/cluster/fleet.ts';
import { presenceText } from '../../../../src/decide/presence/presence.ts';
import { presenceAt } from '../../../support/agent/presence.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const NOW = Date.UTC(2026, 6, 1, 12);
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/nodemaint-system/leases/nodemaint-controller';

/** The row of a node whose agent says that it has this version. */
function rowOf(name: string, version: string): object {
  const at = '2026-07-01T12:00:00Z';
  const annotations = { [AGENT_STATUS_ANNOTATION]: presenceText(presenceAt(at, { version }), at) };
  return { cells: [name, 'Ready'], object: { metadata: { name, annotations } } };
}

/** The states of a fleet of nodes with these versions, in their order, where the Lease cannot be read or says a version. */
async function statesOf(versions: readonly string[], controller?: string, status = 403): Promise<readonly string[]> {
  const columnDefinitions = [{ name: 'Name' }, { name: 'Status' }];
  const rows = versions.map((version, index) => rowOf(`n${index}`, version));
  const annotations = { 'nodemaintenance.x-k8s.io/version': controller };
  const { client, refused } = createObjectServer({
    '/api/v1/nodes': { metadata: { resourceVersion: '1' }, columnDefinitions, rows },
    [LEASE]: { metadata: { name: 'nodemaint-controller', annotations }, spec: {} },
  });
  if (controller === undefined) refused.set(`GET ${LEASE}`, status);
  return (await readFleet(client, '', NOW, AbortSignal.timeout(60_000))).nodes.map(({ state }) => state);
}

describe('the fleet of a cluster whose Lease may not be read', () => {
  it('what a single node says of its version makes no other one outdated', async () => {
    assert.deepEqual(await statesOf(['0.1.0', '99.0.0', '0.1.0']), ['guarded', 'outdated', 'guarded']);
  });

  it('an API server that fails is not taken for a missing right', async () => {
    await assert.rejects(statesOf(['0.1.0'], undefined, 500), { code: 'API_REFUSED', status: 500 });
  });

  it('where no version has more than half of the agents, none is outdated', async () => {
    assert.deepEqual(await statesOf(['0.1.0', '0.2.0']), ['guarded', 'guarded']);
  });

  it('the version of the controller counts where it can be read, whatever most agents have', async () => {
    assert.deepEqual(await statesOf(['0.1.0', '0.1.0', '0.2.0'], '0.2.0'), ['outdated', 'outdated', 'guarded']);
  });
});
