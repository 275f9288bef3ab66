import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOtherNodes } from '../../../../../src/agent/drain/self/other-nodes.ts';
import { AGENT_LABEL, SHUTDOWN_KIND_ANNOTATION } from '../../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import type { KubeRequest, KubeResponse } from '../../../../../src/kube/client.ts';
import { drainOf } from '../../../../support/maintenance/objects.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

function shutdown(node: string): NodeMaintenance {
  const drain = drainOf(`shutdown-${node}-0`, [node]);
  return {
    ...drain,
    metadata: {
      ...drain.metadata,
      labels: { [AGENT_LABEL]: node },
      annotations: { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' },
    },
  };
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
  const others = createOtherNodes({ client, clock, log, nodeName: 'n1', onChange: () => undefined });
  let why: string | undefined;
  for (let at = 0; at <= sec; at += 10) {
    why = (await others.look(maintenances, SIGNAL))();
    if (at < sec) clock.pass(10_000);
  }
  return { why, asked, log };
}

function page(names: readonly string[], more = ''): Partial<KubeResponse> {
  const items = names.map((name) => ({
    metadata: { name, creationTimestamp: '2020-01-01T00:00:00Z' },
    spec: { renewTime: '' },
  }));
  return { body: { metadata: { continue: more }, items } };
}

describe('the other nodes that an agent without a controller looks at', () => {
  it('the budgets of the only node are not asked after a minute, and not before', async () => {
    assert.match(
      (await after(60, [shutdown('n1')], () => page(['n1']))).why ?? '',
      /^No PodDisruptionBudget is asked: node n1/,
    );
    assert.equal((await after(50, [shutdown('n1')], () => page(['n1']))).why, undefined);
  });

  it('the agent asks nothing where its machine does not go down', async () => {
    const { why, asked } = await after(60, [drainOf('person', ['n1'])], () => page(['n1']));
    assert.deepEqual([why, asked], [undefined, []]);
  });

  it('the next page is read only where no node of the first one stays', async () => {
    const first = await after(60, [shutdown('n1')], (query) =>
      query.has('continue') ? page(['n3']) : page(['n1'], 'more'),
    );
    assert.equal(first.asked.filter((path) => path.includes('continue=more')).length, 1);
    assert.equal(first.why, undefined, 'the node of the second page has just been seen');
  });

  it('an agent that may not read them asks the budgets, and says so once', async () => {
    const { why, log } = await after(60, [shutdown('n1')], () => ({ status: 403, body: { message: 'forbidden' } }));
    assert.equal(why, undefined);
    assert.equal(log.lines.length, 1);
  });
});
