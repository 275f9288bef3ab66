import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import { MAINTENANCE_REQUESTER } from '../../../src/api/names.ts';
import type { DrainPlanEntry } from '../../../src/api/node-maintenance.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import type { Write } from '../../chaos/audit.ts';
import type { ManifestMove } from '../../chaos/machine/machine.ts';
import type { Change, Kind } from '../../chaos/timeline.ts';
import { checkForeign } from '../../chaos/invariants/foreign.ts';
import { checkLeaving } from '../../chaos/invariants/leaving.ts';
import { checkManifests } from '../../chaos/invariants/manifests.ts';
import { signatureOf, type Violation } from '../../chaos/invariants/violation.ts';

const CONTROLLER = 'controller';
const ALL: readonly DrainPlanEntry[] = (['Default', 'DaemonSet', 'Static'] as const).map((podType) => ({
  podType,
  podPriority: 2_147_483_647,
}));
const DAEMON_SET = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };

/** Writes down changes, five seconds apart, and who made them. */
function recorder(): {
  add(kind: Kind, object: KubeObject, user?: string, deleted?: boolean): void;
  evict(key: string): void;
  /** Another one deletes the pod. */
  remove(key: string): void;
  /** The manifest of the static pod x/s-n is seen there, five seconds after what is recorded last. */
  move(where: ManifestMove['where']): void;
  leaving(): readonly string[];
  manifests(): readonly string[];
  foreign(): readonly string[];
} {
  const changes: Change[] = [];
  const writes: Write[] = [];
  const moves: ManifestMove[] = [];
  const at = (): number => (changes.length + moves.length) * 5_000;
  const words = (found: readonly Violation[]): readonly string[] => found.map(signatureOf);
  return {
    add: (kind, object, user = 'person', deleted = false) => {
      const revision = changes.length + 1;
      const { namespace, name } = object.metadata;
      const key = namespace === undefined ? name : `${namespace}/${name}`;
      writes.push({ user, program: '', verb: 'patch', resource: '', key, revision, at: at() });
      changes.push({ revision, at: at(), kind, key, object, deleted });
    },
    evict: (key) => {
      writes.push({
        user: CONTROLLER,
        program: '',
        verb: 'create',
        resource: 'pods/eviction',
        key,
        revision: undefined,
        at: at(),
      });
    },
    remove: (key) => {
      writes.push({
        user: 'person',
        program: '',
        verb: 'delete',
        resource: 'pods',
        key,
        revision: undefined,
        at: at(),
      });
    },
    move: (where) => {
      moves.push({ at: at(), pod: 'x/s-n', where, forShutdown: false });
    },
    manifests: () => words(checkManifests(changes, moves, 'n')),
    leaving: () => words(checkLeaving(changes, writes, [CONTROLLER])),
    foreign: () => words(checkForeign(changes, writes, [CONTROLLER])),
  };
}

const node = (metadata: object = {}, rest: object = {}): KubeObject => ({
  metadata: { name: 'n', ...metadata },
  ...rest,
});
const pod = (name: string, metadata: object = {}): KubeObject =>
  ({ metadata: { name, namespace: 'x', uid: name, ...metadata }, spec: { nodeName: 'n' } }) as KubeObject;
const drain = (drainTargets: readonly DrainPlanEntry[]): KubeObject => {
  const maintenance = maintenanceOf({ nodeSelector: byName('n'), stage: 'Drain' }, { name: 'm' });
  return { ...maintenance, status: { nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets }] } } as KubeObject;
};
const request = (name: string, ...requesters: readonly string[]): KubeObject =>
  ({
    metadata: { name, namespace: 'x' },
    spec: { target: { pod: { name, uid: name } }, requesters: requesters.map((each) => ({ name: each })) },
  }) as KubeObject;

describe('checks of a replayed history', () => {
  it('the request of a covered pod is right, and of another pod it is found', () => {
    const covered = recorder();
    covered.add('Node', node());
    covered.add('Pod', pod('p'));
    covered.add('NodeMaintenance', drain(ALL.slice(0, 1)), CONTROLLER);
    covered.add('EvictionRequest', request('p', MAINTENANCE_REQUESTER), CONTROLLER);
    assert.deepEqual(covered.leaving(), []);
    covered.add('Pod', pod('q', { ownerReferences: [DAEMON_SET] }));
    covered.add('EvictionRequest', request('q', MAINTENANCE_REQUESTER), CONTROLLER);
    assert.deepEqual(covered.leaving(), ['covered: a DaemonSet pod is requested that no drain covers']);
  });

  it('an eviction without a drain and without another requester is found', () => {
    for (const requesters of [[MAINTENANCE_REQUESTER], ['other.example']]) {
      const history = recorder();
      history.add('Node', node());
      history.add('Pod', pod('p'));
      history.add('EvictionRequest', request('p', ...requesters));
      history.evict('x/p');
      history.add('Pod', pod('p', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
      const wrong = ['covered: a Default pod is evicted that no drain covers'];
      assert.deepEqual(history.leaving(), requesters[0] === MAINTENANCE_REQUESTER ? wrong : []);
    }
  });

  it('a pod that somebody else deletes was not evicted, although a namesake of it was just before', () => {
    const history = recorder();
    history.add('Node', node());
    history.add('Pod', pod('p'));
    history.evict('x/p');
    history.remove('x/p');
    history.add('Pod', pod('p', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    assert.deepEqual(history.leaving(), []);
  });

  it('a tier that begins too early is found', () => {
    const history = recorder();
    history.add('Node', node());
    history.add('Pod', pod('p'));
    history.add('Pod', pod('q', { ownerReferences: [DAEMON_SET] }));
    history.add('NodeMaintenance', drain(ALL.slice(0, 1)), CONTROLLER);
    assert.deepEqual(history.leaving(), []);
    history.add('NodeMaintenance', drain(ALL.slice(0, 2)), CONTROLLER);
    const what = 'a DaemonSet pod is targeted while an earlier Default pod is on its node';
    assert.deepEqual(history.leaving(), [`tiers: ${what}`]);
  });

  it('a lost finalizer, a changed label and a taken cordon of others are found', () => {
    const history = recorder();
    history.add('NodeMaintenance', drain([]));
    history.add('NodeMaintenance', { ...drain([]), metadata: { name: 'm', finalizers: ['other.example/x'] } });
    history.add('NodeMaintenance', drain(ALL), CONTROLLER);
    history.add('Node', node({ annotations: { 'nodemaintenance.x-k8s.io/cordoned': 'm' } }));
    history.add(
      'Node',
      node({ annotations: { 'nodemaintenance.x-k8s.io/cordoned': 'm' } }, { spec: { unschedulable: true } }),
    );
    history.add('Node', node({ labels: { a: 'b' } }), CONTROLLER);
    assert.deepEqual(history.foreign(), [
      'foreign: finalizers of a NodeMaintenance that the product does not own is changed',
      'foreign: the cordon of somebody else is taken off a node',
      'foreign: labels of a Node that the product does not own is changed',
    ]);
  });

  it('a manifest that is moved without a drain, comes back under one, or is lost is found', () => {
    const history = recorder();
    history.add('Node', node());
    history.move('in place');
    history.add('NodeMaintenance', drain(ALL.slice(0, 1)), CONTROLLER);
    history.move('away');
    const early = 'manifests: a manifest is moved away that no drain covers';
    assert.deepEqual(history.manifests(), [early]);
    history.add('NodeMaintenance', drain(ALL), CONTROLLER);
    history.move('in place');
    history.move('away');
    assert.deepEqual(history.manifests(), [early, 'manifests: a manifest comes back while a drain covers it']);
    history.move('nowhere');
    assert.equal(history.manifests().at(-1), 'manifests: a manifest is neither in place nor away');
  });

  it('a manifest that is away under a drain and comes back after it is right', () => {
    const history = recorder();
    history.add('Node', node());
    history.move('in place');
    history.add('NodeMaintenance', drain(ALL), CONTROLLER);
    history.move('away');
    history.add('NodeMaintenance', drain(ALL), CONTROLLER, true);
    history.move('in place');
    assert.deepEqual(history.manifests(), []);
  });
});
