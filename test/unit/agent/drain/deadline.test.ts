import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keepAnnotations, offlineDeadlineOf, staticDeadlineOf } from '../../../../src/agent/drain/deadline.ts';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Deadline } from '../../../../src/decide/deadline/budget.ts';
import type { ShutdownKind } from '../../../../src/decide/shutdown/kind.ts';
import type { Phase, Shutdown } from '../../../../src/decide/shutdown/phase.ts';
import { preciseRfc3339 } from '../../../../src/decide/time.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

const SIGNAL = new AbortController().signal;
const DEADLINE: Deadline = { at: 100_000, since: 0 };
const VIEW = { inPlace: [], ended: [], parked: [], live: undefined };

function phaseOf(deadline?: Deadline, more: Partial<Shutdown> = {}): Extract<Phase, { kind: 'draining' }> {
  return {
    kind: 'draining',
    mode: 'cluster',
    maintenance: 'm',
    origin: 'logind',
    reason: 'r',
    since: 1,
    bootId: 'b',
    ...(deadline === undefined ? {} : { deadline }),
    ...more,
  };
}

/** A cluster with the maintenance of the shutdown, and what was written to it. */
function clusterOf(annotations: Readonly<Record<string, string>>, refuses = false) {
  const written: (Deadline | ShutdownKind)[] = [];
  const cleared: number[] = [];
  const maintenance: NodeMaintenance = {
    metadata: { name: 'm', annotations },
    spec: { nodeSelector: { nodeSelectorTerms: [] } },
  };
  const cluster = {
    maintenances: { get: () => maintenance },
    own: {
      state: () => 'open' as const,
      setDeadline: (_: NodeMaintenance, deadline: Deadline) => {
        if (refuses) return Promise.reject(new NodemaintError('API_REFUSED', 'no'));
        written.push(deadline);
        return Promise.resolve();
      },
      setShutdownKind: (_: NodeMaintenance, kind: ShutdownKind) => {
        written.push(kind);
        return Promise.resolve();
      },
      clearDeadline: (_: NodeMaintenance, at: number) => {
        cleared.push(at);
        return Promise.resolve();
      },
    },
  };
  return { cluster, written, cleared };
}

describe('the deadline of a shutdown', () => {
  it('the deadline of a shutdown is written to its maintenance', async () => {
    const earlier = clusterOf({ [DEADLINE_ANNOTATION]: preciseRfc3339(200_000) });
    await keepAnnotations({ cluster: earlier.cluster, log: SILENT_LOG }, phaseOf(DEADLINE), SIGNAL);
    assert.deepEqual(earlier.written, [DEADLINE]);
  });

  it('the kind of a shutdown is written to its maintenance with and without a deadline, and nothing where none is known', async () => {
    const { cluster, written } = clusterOf({});
    for (const phase of [
      phaseOf(undefined, { shutdownKind: 'reboot' }),
      phaseOf(DEADLINE, { shutdownKind: 'halt' }),
      phaseOf(),
    ]) {
      await keepAnnotations({ cluster, log: SILENT_LOG }, phase, SIGNAL);
    }
    assert.deepEqual(written, ['reboot', DEADLINE, 'halt']);
  });

  it('the deadline of a trigger that is taken back is taken away from the maintenance', async () => {
    const { cluster, written, cleared } = clusterOf({ [DEADLINE_ANNOTATION]: preciseRfc3339(200_000) });
    await keepAnnotations({ cluster, log: SILENT_LOG }, phaseOf(), SIGNAL);
    assert.deepEqual(cleared, []);
    await keepAnnotations({ cluster, log: SILENT_LOG }, { ...phaseOf(), withdrawnDeadline: 200_000 }, SIGNAL);
    assert.deepEqual([written, cleared], [[], [200_000]]);
  });

  it('the deadline of a shutdown does not delay the loop where the API server refuses it', async () => {
    const { cluster } = clusterOf({}, true);
    await keepAnnotations({ cluster, log: SILENT_LOG }, phaseOf(DEADLINE), SIGNAL);
  });

  it('the deadline of a shutdown means nothing for the pods of a shutdown that has none', () => {
    assert.equal(staticDeadlineOf(phaseOf(), VIEW, [], 0), undefined);
    assert.equal(offlineDeadlineOf(phaseOf(), { pods: [], view: VIEW, drainPlan: [] }, 0), undefined);
  });

  it('the deadline of a shutdown makes the static pods due that are in place when their time has come', () => {
    const pod = { file: 'web.yaml', namespace: 'default', podName: 'web-n1', priority: 0, labels: {}, graceSec: 30 };
    const view = { ...VIEW, inPlace: [pod as never] };
    assert.equal(staticDeadlineOf(phaseOf(DEADLINE), view, [], 0)?.due.length, 0);
    assert.equal(staticDeadlineOf(phaseOf(DEADLINE), view, [], 99_000)?.due.length, 1);
  });
});
