import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OtherNodes } from '../../../../../src/agent/drain/self/other-nodes.ts';
import { SHUTDOWN_KIND_ANNOTATION } from '../../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { KubeRequest, KubeResponse } from '../../../../../src/kube/client.ts';
import { drainOf, ownMaintenanceOf } from '../../../../support/maintenance/objects.ts';
import { rfc3339 } from '../../../../../src/decide/time.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

function shutdown(node: string, kind = 'poweroff'): NodeMaintenance {
  const nodeStatuses = [{ nodeRef: { name: node }, drainStartTime: '2026-01-01T00:00:00Z' }];
  return { ...ownMaintenanceOf(node, { annotations: { [SHUTDOWN_KIND_ANNOTATION]: kind } }), status: { nodeStatuses } };
}

/** What an agent of n1 sees where the API server answers so, each ten seconds for `sec` seconds. */
async function after(
  sec: number,
  maintenances: readonly NodeMaintenance[],
  answer: (query: URLSearchParams) => Partial<KubeResponse>,
) {
  const asked: string[] = [];
  const clock = createSteppingClock();
  const client = {
    send: (request: KubeRequest): Promise<KubeResponse> => {
      asked.push(request.path);
      return Promise.resolve({
        status: 200,
        headers: {},
        body: undefined,
        ...answer(new URL(request.path, 'http://x').searchParams),
      });
    },
  } as never;
  const log = createRecordingLog();
  const others = new OtherNodes({ client, clock, log, nodeName: 'n1' });
  let why: string | undefined;
  for (let at = 0; at <= sec; at += 10) {
    why = await others.whyNotAsked(maintenances, SIGNAL);
    if (at < sec) clock.pass(10_000);
  }
  return { why, asked, log };
}

/** Leases that their kubelets renewed a minute, or ten, ago. */
function page(names: readonly string[], more = '', ageMs = 60_000): Partial<KubeResponse> {
  const renewTime = rfc3339(createSteppingClock().now() - ageMs);
  const items = names.map((name) => ({ metadata: { name }, spec: { renewTime } }));
  return { body: { metadata: { resourceVersion: '1', continue: more }, items } };
}

describe('the other nodes that an agent without a controller looks at', () => {
  const OWN = [shutdown('n1')];
  const cases: readonly [string, readonly NodeMaintenance[], Partial<KubeResponse>, boolean][] = [
    ['of the only node', OWN, page(['n1']), true],
    ['beside a node that stays', OWN, page(['n1', 'n2']), false],
    ['beside a node whose kubelet has been silent for long', OWN, page(['n1', 'n2'], '', 600_000), true],
    ['beside one that is switched off, too', [...OWN, shutdown('n2')], page(['n1', 'n2']), true],
    ['beside one that reboots', [...OWN, shutdown('n2', 'reboot')], page(['n1', 'n2']), false],
  ];
  for (const [what, maintenances, answer, isNotAsked] of cases) {
    it(`the budgets ${what} are ${isNotAsked ? 'not ' : ''}asked`, async () => {
      assert.equal((await after(0, maintenances, () => answer)).why !== undefined, isNotAsked);
    });
  }

  it('the agent asks nothing where its machine does not go down', async () => {
    const { why, asked } = await after(60, [drainOf('person', ['n1'])], () => page(['n1']));
    assert.deepEqual([why, asked], [undefined, []]);
  });

  it('the next page is read only where no node of the first one stays', async () => {
    const next = await after(0, OWN, (query) => (query.has('continue') ? page(['n3']) : page(['n1'], 'more')));
    assert.equal(next.asked.filter((path) => path.includes('continue=more')).length, 1);
    assert.equal(next.why, undefined);
    assert.equal((await after(0, OWN, () => page(['n2'], 'more'))).asked.length, 1);
  });

  it('an agent that may not read them asks the budgets, and says so once', async () => {
    const { why, log } = await after(60, OWN, () => ({ status: 403, body: { message: 'forbidden' } }));
    assert.equal(why, undefined);
    assert.equal(log.lines.length, 1);
  });
});
