import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildStatus, type StatusFacts } from '../../../src/agent/status.ts';
import type { StaticPodPass } from '../../../src/agent/drain/pod-pass.ts';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { ControllerLife } from '../../../src/decide/shutdown/drainer.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import { DRAINING, UNTAKEN } from '../../support/agent/phase-facts.ts';
import { A, at, MINUTE, T0, underWay } from '../../support/eviction/fixtures.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const WATCHING: Phase = { kind: 'watching' };
const SERVER = 'https://api.example:6443';

function factsOf(phase: Phase, changes: Partial<StatusFacts> = {}): StatusFacts {
  return {
    nodeName: 'node-a',
    startedAt: 7,
    phase,
    lastPass: undefined,
    storageProblem: undefined,
    cluster: undefined,
    controller: undefined,
    scheduled: null,
    lock: { kind: 'unit', held: true, message: 'held' },
    otherLocks: ['kubelet (uid 0)'],
    warnings: [],
    ...changes,
  };
}

type Cluster = NonNullable<StatusFacts['cluster']>;

function clusterOf(requests: readonly EvictionRequest[], maintenance?: NodeMaintenance): Cluster {
  return {
    access: { server: new URL(SERVER) },
    client: { problem: () => undefined },
    maintenances: {
      get: () => maintenance,
      heardAt: () => 42,
      drains: () =>
        maintenance === undefined ? [] : [{ maintenance: maintenance.metadata.name, reason: '', drainTargets: [] }],
    },
    requests: { list: () => requests },
  };
}

/** A pass that moved the manifests of etcd, which still runs, and of web, which has ended. */
const PASS = {
  view: {
    inPlace: [{ file: 'dns.yaml' }],
    ended: [{ file: 'log.yaml' }],
    parked: [
      { file: 'etcd.yaml', parkedAt: T0 },
      { file: 'web.yaml', parkedAt: T0 },
    ],
  },
  decision: {
    progress: [
      { key: 'kube-system/etcd', file: 'etcd.yaml', state: 'ending', expectedFinishAt: T0 + MINUTE },
      { key: 'default/web', file: 'web.yaml', state: 'ended' },
    ],
  },
  waiting: [],
} as unknown as StaticPodPass;

describe('the status of the agent', () => {
  it('the status of a node without a cluster names neither a server nor a controller', () => {
    const status = buildStatus(factsOf(WATCHING));
    assert.deepEqual(status.cluster, { configured: false });
    assert.deepEqual(status.lock, { kind: 'unit', held: true, message: 'held', others: ['kubelet (uid 0)'] });
    assert.deepEqual([status.maintenance, status.scheduled, status.waitingFor], [null, null, []]);
    assert.ok(!('controller' in status) && !('storageProblem' in status));
  });

  it('the status names the interceptor that a pod waits for, and when it expects to finish', () => {
    const request = underWay({ expectedFinishTime: at(30 * MINUTE) });
    const { waitingFor, cluster, controller } = buildStatus(
      factsOf(DRAINING, { cluster: clusterOf([request]), controller: { kind: 'alive', silentMs: 5 } }),
    );
    const expectedAt = T0 + 30 * MINUTE;
    const web = { wait: 'interceptor', what: 'default/web', on: A, message: 'Half done.', since: T0, expectedAt };
    assert.deepEqual(waitingFor, [web]);
    assert.deepEqual(cluster, { configured: true, server: SERVER, heardAt: 42 });
    assert.deepEqual(controller, { state: 'alive', silentMs: 5 });
  });

  it('the status leaves out what is not known: no field stands for it', () => {
    const request = underWay();
    const { creationTimestamp: _, ...metadata } = request.metadata;
    const cluster = clusterOf([{ ...request, metadata }]);
    const maintenance = drainOf(DRAINING.maintenance, []);
    const maintenances = { get: () => maintenance, heardAt: () => undefined, drains: () => [] };
    const silent: Cluster = { ...cluster, maintenances };
    const parked = PASS.view.parked.map((pod) => ({ ...pod, parkedAt: 0 }));
    const lastPass: StaticPodPass = { ...PASS, view: { ...PASS.view, parked } };
    const status = buildStatus(factsOf(DRAINING, { cluster: silent, lastPass }));
    assert.deepEqual(status.cluster, { configured: true, server: SERVER });
    assert.deepEqual(status.maintenance, { name: DRAINING.maintenance });
    assert.deepEqual(
      status.waitingFor.map((each) => 'since' in each),
      [false, false],
    );
  });

  it('the status lists the manifests, and waits for static pods that have not ended', () => {
    const { inPlace, parked, waitingFor } = buildStatus(factsOf(DRAINING, { lastPass: PASS }));
    assert.deepEqual(
      [inPlace, parked],
      [
        ['dns.yaml', 'log.yaml'],
        ['etcd.yaml', 'web.yaml'],
      ],
    );
    const message = 'manifest parked, containers are ending';
    const etcd = {
      what: 'kube-system/etcd',
      on: 'kubelet',
      message,
      wait: 'grace-period',
      since: T0,
      expectedAt: T0 + MINUTE,
    };
    assert.deepEqual(waitingFor, [etcd]);
  });

  it('the status names a pod once where the drain and a request wait for it, and none of a request of a dead controller', () => {
    const cluster = clusterOf([underWay()]);
    const names = (what: string, more: object = {}): readonly string[] => {
      const waiting = [{ wait: 'returning' as const, what, on: 'this agent', message: '', since: T0 }];
      const { waitingFor } = buildStatus(factsOf(DRAINING, { cluster, lastPass: { ...PASS, waiting }, ...more }));
      return waitingFor.map((each) => `${each.what} ${each.on}`);
    };
    assert.deepEqual(names('default/web'), ['default/web this agent', 'kube-system/etcd kubelet']);
    const controller = { kind: 'dead', silentMs: MINUTE };
    assert.deepEqual(names('default/db', { controller }), ['default/db this agent', 'kube-system/etcd kubelet']);
  });

  it('the status has no pod of a request that an idle controller has left, when the node is drained', () => {
    const node = { nodeRef: { name: 'node-a' }, podsPendingEvacuation: 0, podsEvacuating: 0 };
    const drained = { type: 'Drained', status: 'True', reason: '', message: '', lastTransitionTime: '' } as const;
    const maintenance = { ...drainOf('firmware', ['node-a']), status: { conditions: [drained], nodeStatuses: [node] } };
    const waits = (kind: 'alive' | 'idle', known: NodeMaintenance): number => {
      const cluster = clusterOf([underWay()], known);
      return buildStatus(factsOf(WATCHING, { cluster, controller: { kind, silentMs: MINUTE } })).waitingFor.length;
    };
    assert.equal(waits('idle', maintenance), 0);
    assert.equal(waits('alive', maintenance), 1);
    assert.equal(waits('idle', drainOf('firmware', ['node-a'])), 1);
  });

  it('a drain without a known pod names who is to act, by what the API server has said', () => {
    const known = drainOf(DRAINING.maintenance, ['node-a']);
    const waitOf = (
      phase: Phase,
      maintenance?: NodeMaintenance,
      kind: ControllerLife = 'alive',
    ): string | undefined => {
      const facts = factsOf(phase, { cluster: clusterOf([], maintenance), controller: { kind, silentMs: 0 } });
      return buildStatus(facts).waitingFor[0]?.wait;
    };
    assert.equal(waitOf(UNTAKEN), 'first-answer');
    for (const kind of ['dead', 'idle', 'unknown'] as const) assert.equal(waitOf(DRAINING, known, kind), 'api-server');
    assert.equal(waitOf(DRAINING, known), 'controller');
    const silent = { guarded: 'quorum', waits: 'reboot-limit', asks: 'api-server', ends: 'api-server' } as const;
    for (const stand of ['guarded', 'waits', 'asks', 'ends'] as const)
      assert.equal(waitOf({ ...UNTAKEN, stand }), silent[stand], 'an agent that has restarted has no copy');
    assert.deepEqual(buildStatus(factsOf({ ...DRAINING, mode: 'offline' })).waitingFor, []);
  });

  it('a pod that the NodeMaintenance names and nobody has asked for is named here too', () => {
    const pod = {
      namespace: 'apps',
      name: 'shop',
      reason: 'EvictionRefused',
      message: 'a webhook',
      since: at(0),
    } as const;
    const status = { nodeStatuses: [{ nodeRef: { name: 'node-a' }, podsBlocking: [pod] }] };
    const cluster = clusterOf([], { ...drainOf(DRAINING.maintenance, ['node-a']), status });
    const { waitingFor } = buildStatus(factsOf(DRAINING, { cluster, controller: { kind: 'alive', silentMs: 0 } }));
    const on = DRAINING.maintenance;
    assert.deepEqual(waitingFor, [{ wait: 'denial', what: 'apps/shop', on, message: 'a webhook', since: T0 }]);
  });

  it('the status shows the message of its own node in the NodeMaintenance', () => {
    const nodeStatuses = ['node-b', 'node-a'].map((name) => ({ nodeRef: { name }, drainMessage: `drains ${name}` }));
    const maintenance = { ...drainOf(DRAINING.maintenance, ['node-a']), status: { nodeStatuses } };
    const cluster = clusterOf([], maintenance);
    const expected = { name: DRAINING.maintenance, message: 'drains node-a' };
    assert.deepEqual(buildStatus(factsOf(DRAINING, { cluster })).maintenance, expected);
  });

  it('the status shows a schedule only with its time, and a problem of the disk', () => {
    const scheduled = (at: number | null): unknown =>
      buildStatus(factsOf(WATCHING, { scheduled: { kind: 'reboot', at } })).scheduled;
    assert.deepEqual(scheduled(9), { kind: 'reboot', at: 9 });
    assert.equal(scheduled(null), null);
    const { storageProblem } = buildStatus(factsOf(WATCHING, { storageProblem: 'disk full' }));
    assert.equal(storageProblem, 'disk full');
  });
});
