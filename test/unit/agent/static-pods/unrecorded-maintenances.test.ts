import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMaintenanceTransform } from '../../../../src/agent/cluster/copy-trimming.ts';
import { createOwnNode } from '../../../../src/agent/cluster/own-node.ts';
import { UnrecordedMaintenances } from '../../../../src/agent/static-pods/unrecorded-maintenances.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { drainsOfNode } from '../../../../src/decide/maintenance/maintenance.ts';
import { keepsParked, type RetentionFacts } from '../../../../src/decide/static-pod/parked.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { byName, maintenanceOf } from '../../../support/maintenance/objects.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const NODE_PATH = '/api/v1/nodes/n';
const PATH = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances/m';
const STATIC = { podType: 'Static', podPriority: 2_147_483_647 } as const;
const BY_LABEL = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'maintenance', operator: 'Exists' }] }] };
const LABELLED = { metadata: { name: 'n', labels: { maintenance: 'now' } } };
const PARKED = [{ file: 'etcd.yaml', maintenance: 'm', priority: 0, labels: {} }] as never;

function maintenance(stage: string, nodeSelector: object = BY_LABEL, status?: object): NodeMaintenance {
  return { ...maintenanceOf({ stage, nodeSelector }, { name: 'm' }), ...(status === undefined ? {} : { status }) };
}

const RECORDED = maintenance('Drain', BY_LABEL, { nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: [STATIC] }] });

/** An agent with a manifest that is parked for the maintenance `m`, in a cluster where it and the Node are so. */
function open(found: NodeMaintenance | undefined, node: object | undefined, noted?: readonly NodeMaintenance[]) {
  const server = createObjectServer({
    ...(found === undefined ? {} : { [PATH]: found }),
    ...(node === undefined ? {} : { [NODE_PATH]: node }),
  });
  const clock = createSteppingClock();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n', onChange: () => undefined };
  const copy = found && createMaintenanceTransform('n')(found);
  const get = (name: string): NodeMaintenance | undefined => (name === 'm' ? copy : undefined);
  const maintenances = { get, watchesAll: () => noted === undefined };
  const unrecorded = new UnrecordedMaintenances(dependencies, maintenances, createOwnNode(dependencies));
  const facts: RetentionFacts = {
    phase: { kind: 'watching' },
    onBoot: 'complete',
    clusterConfigured: true,
    own: [],
    drains: drainsOfNode(noted ?? (copy === undefined ? [] : [copy]), 'n'),
    apiSilent: false,
  };
  return {
    server,
    clock,
    isKept: async (): Promise<boolean> => {
      const names = await unrecorded.find({ parked: PARKED }, facts, SIGNAL);
      return keepsParked(PARKED[0], { ...facts, unrecorded: names });
    },
  };
}

const cases: [string, NodeMaintenance | undefined, object | undefined, boolean, readonly string[]][] = [
  ['the drain records the node: nothing is asked', RECORDED, LABELLED, true, []],
  ['the Node object is gone', maintenance('Drain'), undefined, true, [NODE_PATH]],
  ['the Node is gone, of a drain of the node alone', maintenance('Drain', byName('n')), undefined, true, [NODE_PATH]],
  ['the Node object is there again', maintenance('Drain'), LABELLED, true, [NODE_PATH]],
  ['the node has left the selector', maintenance('Drain'), { metadata: { name: 'n' } }, false, [NODE_PATH]],
  ['the Node object is gone, and the maintenance over', maintenance('Complete'), undefined, false, [NODE_PATH]],
  ['the maintenance has been deleted', undefined, undefined, false, []],
];

describe('a manifest that is parked for a maintenance', () => {
  for (const [what, found, node, kept, asked] of cases) {
    it(`a manifest ${kept ? 'stays parked' : 'comes back'} where ${what}`, async () => {
      const rig = open(found, node);
      assert.equal(await rig.isKept(), kept);
      assert.deepEqual(
        rig.server.asked,
        asked.map((path) => `GET ${path}`),
      );
    });
  }

  it('a manifest stays parked while the API server does not say whether the node is there', async () => {
    for (const path of [NODE_PATH]) {
      const rig = open(maintenance('Drain'), undefined);
      rig.server.refused.set(`GET ${path}`, 500);
      assert.equal(await rig.isKept(), true);
    }
  });

  it('a manifest comes back within seconds of the end of the maintenance, which is asked about once in five seconds', async () => {
    const rig = open(maintenance('Drain'), undefined, []);
    for (const passMs of [0, 1_000, 3_999]) {
      rig.clock.pass(passMs);
      assert.equal(await rig.isKept(), true);
    }
    assert.equal(rig.server.asked.length, 2);
    rig.server.objects.set(PATH, maintenance('Complete'));
    rig.clock.pass(1);
    assert.equal(await rig.isKept(), false);
  });

  const withoutStatic = [{ podType: 'Default', podPriority: 5 }];
  for (const [what, found, kept] of [
    ['the maintenance drains static pods here', RECORDED, true],
    [
      'the maintenance drains other pods here',
      maintenance('Drain', BY_LABEL, { nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: withoutStatic }] }),
      false,
    ],
    ['the maintenance has just begun', maintenance('Drain'), true],
    ['the maintenance is over', { ...RECORDED, spec: { ...RECORDED.spec, stage: 'Complete' as const } }, false],
    ['the maintenance is gone', undefined, false],
  ] as const) {
    it(`a manifest ${kept ? 'stays parked' : 'comes back'} where the note on the Node says nothing and ${what}`, async () => {
      assert.equal(await open(found, LABELLED, []).isKept(), kept);
    });
  }
});
