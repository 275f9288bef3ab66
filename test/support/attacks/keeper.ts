/** What a user tries who may take one node out of use. */
import {
  AGENT_LABEL,
  BOOT_ANNOTATION,
  DEADLINE_ANNOTATION,
  RELEASE_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
} from '../../../src/api/names.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { conditionWith } from '../rigs/admission.ts';
import { allowed, type Attack, type Call, type Family, policy, RBAC, refused } from './attack.ts';
import { dry, patched, patchedStatus, RELEASE, TEAM } from './scene.ts';

const MAINTENANCES = 'nodemaint-node-maintenances';
const NAMES = policy(MAINTENANCES, /begin with shutdown- or notice- belong to the agents of the nodes/u);
const RELEASES = policy(MAINTENANCES, /may not release node n1|is the name of its author/u);
const ASKED = policy(MAINTENANCES, /requested-by of a NodeMaintenance cannot be changed/u);
const OTHERS = policy(MAINTENANCES, /because it may not drain node n2/u);

function made(metadata: object, node = 'n1'): Call {
  const spec = { stage: 'Idle', nodeSelector: byName(node) } as const;
  return () => dry('POST', collectionPath(NODE_MAINTENANCES), { body: maintenanceOf(spec, metadata) });
}

const PAST = '2026-01-01T00:00:00Z';
const absent = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
/** What of its metadata decides how the shutdown of another node goes on. */
const ON_SHUTDOWN_OF_N2: readonly (readonly [string, object])[] = [
  ['sets a deadline for the shutdown of n2', { annotations: { [DEADLINE_ANNOTATION]: PAST } }],
  ['says that n2 was booted since its shutdown', { annotations: { [BOOT_ANNOTATION]: 'x' } }],
  ['takes the shutdown of n2 from its agent', { labels: { [AGENT_LABEL]: null } }],
  ['keeps the shutdown of n2 for ever', { finalizers: ['evil.example.com/x'] }],
  ['lets the shutdown of n2 be collected', { ownerReferences: [absent] }],
];

const tries = (name: string, call: Call, refuser = NAMES): Attack => refused('keeper', name, refuser, call);

export const KEEPER_ATTACKS: readonly Family[] = [
  {
    attacker: 'keeper',
    title: 'NodeMaintenances, making',
    control: allowed('keeper', 'makes one for n1', made({ name: 'of-the-keeper' })),
    attacks: [
      tries('makes one under a name of a shutdown of n2', made({ name: 'shutdown-n2-5' })),
      tries('makes one under a name of a shutdown of n1', made({ name: 'shutdown-n1-5' })),
      tries('makes one under a name of a notice of n2', made({ name: 'notice-n2-5' })),
      tries('makes one under a generated name of a shutdown', made({ name: undefined, generateName: 'shutdown-n2-' })),
      tries('makes one for node n2', made({ name: 'of-the-keeper' }, 'n2'), OTHERS),
    ],
  },
  {
    attacker: 'keeper',
    title: 'NodeMaintenances that are there',
    control: allowed('keeper', 'completes the shutdown of n1', () =>
      patched(NODE_MAINTENANCES, { name: 'shutdown-n1-0' }, { spec: { stage: 'Complete' } }),
    ),
    attacks: [
      tries(
        'completes the shutdown of n2',
        () => patched(NODE_MAINTENANCES, { name: 'shutdown-n2-0' }, { spec: { stage: 'Complete' } }),
        OTHERS,
      ),
      tries(
        'deletes the shutdown of n2',
        () => dry('DELETE', objectPath(NODE_MAINTENANCES, { name: 'shutdown-n2-0' })),
        OTHERS,
      ),
      ...ON_SHUTDOWN_OF_N2.map(([name, metadata]) =>
        tries(name, () => patched(NODE_MAINTENANCES, { name: 'shutdown-n2-0' }, { metadata }), OTHERS),
      ),
      tries(
        'sets a deadline for both nodes of a rack',
        () =>
          patched(NODE_MAINTENANCES, { name: 'rack' }, { metadata: { annotations: { [DEADLINE_ANNOTATION]: PAST } } }),
        OTHERS,
      ),
      tries(
        'says that somebody else asked for the drain of n1',
        () =>
          patched(
            NODE_MAINTENANCES,
            { name: 'of-a-person' },
            { metadata: { annotations: { [REQUESTED_BY_ANNOTATION]: 'somebody-else' } } },
          ),
        ASKED,
      ),
      tries(
        'lets the machine of n1 go, without the verb release',
        () =>
          patched(
            NODE_MAINTENANCES,
            { name: 'shutdown-n1-0' },
            { metadata: { annotations: { [RELEASE_ANNOTATION]: 'keeper: now' } } },
          ),
        RELEASES,
      ),
      tries(
        'says that its own node is drained',
        () =>
          patchedStatus(
            NODE_MAINTENANCES,
            { name: 'shutdown-n1-0' },
            { conditions: [conditionWith('Drained', 'True')] },
          ),
        RBAC,
      ),
      tries(
        'acts as the account that releases gated pods',
        () => ({ ...dry('DELETE', collectionPath(PODS, TEAM)), as: RELEASE }),
        RBAC,
      ),
    ],
  },
];
