import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFirstSteps, createSteps } from '../../../src/agent/steps.ts';
import type { AgentContext } from '../../../src/agent/context.ts';

/** The names of the steps; none of them is run. */
function stepNames(isCluster: boolean): readonly string[] {
  const parts = { config: { drainPlan: [] }, log: {}, node: {}, machine: {}, notices: {}, people: {}, staticPods: {} };
  const cluster = isCluster ? { cluster: {}, overduePods: {}, selfDrain: {} } : undefined;
  const dependencies = {
    phases: { record: () => assert.fail(), saveTargets: () => assert.fail() },
    passes: { run: () => assert.fail(), last: () => undefined },
    firstQuestion: { note: () => assert.fail() },
    retentionFacts: () => assert.fail(),
    observation: () => assert.fail(),
    storage: { problem: () => undefined, retry: () => assert.fail() },
    showStatus: () => assert.fail(),
  };
  const first = createFirstSteps({
    handOver: { attempt: () => assert.fail() },
    record: () => assert.fail(),
    askedRelease: () => assert.fail(),
    release: () => assert.fail(),
  });
  const steps = [...first, ...createSteps({ ...parts, cluster } as unknown as AgentContext, dependencies)];
  const all = steps.flatMap((step) => ('concurrent' in step ? step.concurrent.flat() : [step]));
  return all.map(({ name }) => name);
}

describe('the steps of an iteration', () => {
  it('restore a lost shutdown first, run the hooks before the lock, create the maintenance before pods leave, and show the state last', () => {
    const names = stepNames(true);
    const ordered = [
      'hand an offline drain over to the cluster',
      'hear whether a person lets the machine go',
      'restore a lost shutdown',
      'run the hooks',
      'keep the shutdown lock',
      'create the maintenance',
      'drain the node and move static pods',
      'show the state to systemd',
    ];
    assert.deepEqual(
      names.filter((name) => ordered.includes(name)),
      ordered,
    );
    assert.equal(names.at(-1), ordered.at(-1));
    assert.equal(new Set(names).size, names.length, 'the log names a step by its name alone');
  });

  it('leave the cluster out where none is configured, and nothing else', () => {
    const without = stepNames(false);
    const cluster = stepNames(true).filter((name) => !without.includes(name));
    assert.deepEqual(cluster, [
      'create the maintenance',
      'write the deadline and the kind of the shutdown',
      'end overdue pods',
      'complete the maintenances',
      'cordon for a notice',
      'remove failed pods',
      'show the agent on its Node',
      'watch the eviction requests',
    ]);
  });
});
