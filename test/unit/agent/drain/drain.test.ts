import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DrainStep } from '../../../../src/agent/drain/drain.ts';
import {
  type DrainerFacts,
  type Drainer,
  type DrainPass,
  EMPTY_PASS,
  type PassFacts,
} from '../../../../src/agent/drain/drainer.ts';
import type { DrainSight } from '../../../../src/agent/drain/take-over.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { ControllerLife } from '../../../../src/decide/shutdown/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';

const SIGNAL = new AbortController().signal;
const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const MAINTENANCE: NodeMaintenance = { metadata: { name: 'm' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } };

function phaseOf(mode: 'cluster' | 'offline', deadlineAt?: number): Phase {
  const deadline = deadlineAt === undefined ? {} : { deadline: { at: deadlineAt, since: 0 } };
  return { kind: 'draining', mode, ...SHUTDOWN, ...deadline };
}

function factsOf(phase: Phase): PassFacts {
  const pod = { file: 'web.yaml', namespace: 'default', podName: 'web-n', priority: 0, labels: {}, graceSec: 30 };
  return {
    record: { phase, offlineTargets: [] },
    view: { inPlace: [pod as never], ended: [], parked: [], live: undefined },
    retention: {} as never,
    keepParked: () => true,
    saveTargets: () => Promise.resolve(),
  };
}

/** The step with three drainers that note what is asked of them. */
function stepOf(
  life: ControllerLife,
  passed = EMPTY_PASS,
): { readonly step: DrainStep; readonly calls: string[]; readonly facts: DrainerFacts[] } {
  const calls: string[] = [];
  const facts: DrainerFacts[] = [];
  const drainerOf = (kind: string): Drainer => ({
    pass: (given) => {
      calls.push(`${kind} passes`);
      facts.push(given);
      return Promise.resolve(passed);
    },
  });
  const observer = {
    observe: (): Promise<DrainSight> => {
      calls.push('the controller is observed');
      return Promise.resolve({ controller: life, maintenances: [MAINTENANCE] });
    },
    stall: () => undefined,
    isBusy: () => false,
    state: () => undefined,
    suspend: () => {
      calls.push('the observation ends');
    },
    note: (_phase: Phase, reason: string | undefined) => {
      if (reason !== undefined) calls.push(`noted: ${reason}`);
    },
  };
  const look = (pass: DrainPass): Promise<DrainPass> => {
    calls.push('the runtime is looked at');
    return Promise.resolve(pass);
  };
  const stop = (): void => {
    calls.push('self stops');
  };
  const told = { after: (pass: DrainPass) => Promise.resolve(pass), stop: () => undefined };
  const self = { ...drainerOf('self'), stop };
  const hands = {
    offline: drainerOf('offline'),
    runningPods: { after: look, afterCompletion: look },
    cluster: { byController: drainerOf('controller'), self, observer, told },
  };
  const step = new DrainStep(hands, [], createSystemClock());
  return { step, calls, facts };
}

describe('the drain of the node', () => {
  for (const [life, steps] of [
    ['alive', ['self stops', 'controller passes']],
    ['dead', ['self passes']],
  ] as const) {
    it(`the drain of the node is its agent's, or ends before another one passes, with a controller that is ${life}`, async () => {
      const expected = ['the controller is observed', ...steps, 'the runtime is looked at'];
      const { step, calls, facts } = stepOf(life);
      await step.pass(factsOf(phaseOf('cluster')), SIGNAL);
      assert.deepEqual(calls, expected);
      assert.deepEqual(facts[0]?.maintenances, [MAINTENANCE]);
    });
  }

  it('the drain of the node observes no controller while the API server is given up', async () => {
    const { step, calls } = stepOf('alive');
    await step.pass(factsOf(phaseOf('offline')), SIGNAL);
    assert.deepEqual(calls, ['self stops', 'the observation ends', 'offline passes']);
  });

  it('the drain of the node looks at the runtime after somebody has completed the NodeMaintenance', async () => {
    const { step, calls } = stepOf('alive');
    const phase = { ...phaseOf('offline'), completed: { sinceBootMs: 0 } } as const;
    await step.pass(factsOf(phase), SIGNAL);
    assert.deepEqual(calls.slice(-2), ['offline passes', 'the runtime is looked at']);
  });

  it('the drain of the node lets a static pod leave when its deadline has come, whoever drains the node', async () => {
    for (const mode of ['cluster', 'offline'] as const) {
      const pass = await stepOf('unknown').step.pass(factsOf(phaseOf(mode, 1)), SIGNAL);
      assert.deepEqual([...pass.leave.keys()], ['default/web-n'], mode);
      assert.deepEqual([...pass.targeted], ['default/web-n'], mode);
    }
  });

  const carried: [string, Phase, ControllerLife, boolean, boolean, readonly string[], boolean][] = [
    ['stays in a drain of a person', { kind: 'watching' }, 'alive', true, false, [], true],
    ['is a pod like any other where it carries no way', { kind: 'watching' }, 'alive', false, true, [], true],
    ['leaves last in a shutdown by the controller', phaseOf('cluster'), 'alive', true, false, ['default/web-n'], false],
    ['leaves last in a shutdown by the agent', phaseOf('cluster'), 'dead', true, false, ['default/web-n'], false],
    ['is a pod like any other without an API server', phaseOf('offline'), 'alive', true, true, [], true],
  ];
  for (const [what, phase, life, carries, isGiven, leave, drained] of carried)
    it(`the static pod ${what}`, async () => {
      const { step, facts } = stepOf(life, { ...EMPTY_PASS, drained: true, left: 'x' });
      const given = factsOf(phase);
      const pass = await step.pass({ ...given, carriers: carries ? given.view.inPlace : [] }, SIGNAL);
      assert.deepEqual([facts[0]?.view.inPlace.length === 1, [...pass.leave.keys()]], [isGiven, leave]);
      assert.deepEqual([pass.drained, pass.left], drained ? [true, 'x'] : [false, undefined]);
    });

  it('the drain of the node lets no static pod leave by a deadline that is far away', async () => {
    const pass = await stepOf('unknown').step.pass(factsOf(phaseOf('cluster', Date.now() + 3_600_000)), SIGNAL);
    assert.equal(pass.leave.size, 0);
  });
});
