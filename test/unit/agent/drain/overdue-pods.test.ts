import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOverduePods } from '../../../../src/agent/drain/overdue-pods.ts';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { ContainerRuntime, PodSandbox } from '../../../../src/host/cri/runtime.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer, withOpenWatches } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const PODS = '/api/v1/pods';
const DEADLINE = { [DEADLINE_ANNOTATION]: '2026-01-01T00:10:00Z' };

/** A pod that was told to end with 30 s; `end` is the time of day on 2025-12-31 at which they are over. */
function terminatingPod(name: string, deletionTimestamp: string): object {
  const metadata = {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    deletionTimestamp,
    deletionGracePeriodSeconds: 30,
  };
  return { metadata, spec: { nodeName: 'n1' } };
}

/** The passes over a node with a pod whose grace period is over and one whose grace period is not, at 2026-01-01. */
function open(annotations: Readonly<Record<string, string>>, livePods: ContainerRuntime['livePods']) {
  const items = [terminatingPod('late', '2025-12-31T23:59:50Z'), terminatingPod('early', '2026-01-01T00:00:20Z')];
  const server = createObjectServer({ [PODS]: { metadata: { resourceVersion: '1' }, items } });
  const log = createRecordingLog();
  const stopped: [string, number][] = [];
  const runtime = {
    livePods,
    stopPod: (id: string, graceSec: number) => {
      stopped.push([id, graceSec]);
      return Promise.resolve();
    },
  } as unknown as ContainerRuntime;
  const maintenance: NodeMaintenance = {
    metadata: { name: 'm', annotations },
    spec: { stage: 'Drain', nodeSelector: { nodeSelectorTerms: [] } },
  };
  const maintenances = {
    drains: () => [{ maintenance: 'm', reason: '', drainTargets: [] }],
    get: () => maintenance,
  };
  const lifetime = new AbortController();
  const dependencies = {
    client: withOpenWatches(server.client),
    clock: createSteppingClock(),
    log,
    nodeName: 'n1',
    onChange: () => undefined,
  };
  const overdue = createOverduePods(maintenances, runtime, dependencies, lifetime.signal);
  /** A pass that begins the watch, and one after its list has arrived. */
  const passes = async (): Promise<void> => {
    await overdue.reconcile(lifetime.signal);
    await new Promise((resolve) => setImmediate(resolve));
    await overdue.reconcile(lifetime.signal);
    lifetime.abort();
  };
  return { server, log, stopped, passes };
}

const LIVE = ['late', 'early', 'unknown'].map((name) => ({ id: `sandbox-${name}`, podUid: `uid-${name}` }));
const live = (): Promise<readonly PodSandbox[]> => Promise.resolve(LIVE as unknown as PodSandbox[]);

describe('the overdue pods of a node', () => {
  it('the overdue pods are stopped at once over the runtime, and no other pod is', async () => {
    const { stopped, passes } = open(DEADLINE, live);
    await passes();
    assert.deepEqual(stopped, [['sandbox-late', 0]]);
  });

  it('the overdue pods are not looked for while no drain of the node has a deadline', async () => {
    const { server, stopped, passes } = open({}, live);
    await passes();
    assert.deepEqual([server.asked, stopped], [[], []]);
  });

  it('the overdue pods wait for a runtime that does not answer, which the log says', async () => {
    const { log, stopped, passes } = open(DEADLINE, () => Promise.reject(new Error('no socket')));
    await passes();
    assert.deepEqual(stopped, []);
    assert.equal(log.lines.filter((line) => /cannot see whether pods .* have ended.*no socket/.test(line)).length, 1);
  });
});
