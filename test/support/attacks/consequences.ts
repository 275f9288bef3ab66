/** What the API server does not refuse, and what the product itself sees to: a controller runs meanwhile. */
import { collectionPath, EVENTS, NODE_MAINTENANCES, PODS } from '../../../src/kube/resource.ts';
import { allowed, type Family } from './attack.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { EDITOR_AND_AGENT, NODE_AND_AGENT } from './agent-consequences.ts';
import { NODE_CONSEQUENCES } from './node-consequences.ts';
import { dry, podBody, RELEASE, TEAM } from './scene.ts';
import { USER_AGAINST_AGENTS, USER_CONSEQUENCES } from './user-consequences.ts';

/** Attacks that are carried out while no controller lives. */
export const WITHOUT_CONTROLLER: readonly Family[] = [
  {
    attacker: 'editor',
    title: 'what the API server lets through while no controller lives',
    control: allowed('n1', 'the agent of n1 lets go of a held pod', () => ({
      ...dry('DELETE', `${collectionPath(PODS, TEAM)}?fieldSelector=metadata.name%3Dheld-n1`),
      as: RELEASE,
    })),
    attacks: USER_AGAINST_AGENTS,
  },
];

/** Attacks that are carried out, in this order; the controller runs. */
export const CONSEQUENCES: readonly Family[] = [
  {
    attacker: 'n1',
    title: 'what the API server lets through',
    control: allowed('n1', 'makes an Event', () =>
      dry('POST', collectionPath(EVENTS, 'default'), {
        body: { apiVersion: 'v1', kind: 'Event', metadata: { name: 'x' }, involvedObject: { namespace: 'default' } },
      }),
    ),
    attacks: NODE_CONSEQUENCES,
  },
  {
    attacker: 'editor',
    title: 'what the API server lets through',
    control: allowed('editor', 'makes a pod', () => dry('POST', collectionPath(PODS, TEAM), { body: podBody('mine') })),
    attacks: [...USER_CONSEQUENCES, ...EDITOR_AND_AGENT],
  },
  {
    attacker: 'n1',
    title: 'what would be in the way of the agent of n2 without the policies',
    control: allowed('n2', 'makes its own', () => {
      const metadata = { name: 'shutdown-n2-1', labels: { 'nodemaintenance.x-k8s.io/agent': 'n2' } };
      const body = maintenanceOf({ stage: 'Drain', nodeSelector: byName('n2') }, metadata);
      return dry('POST', collectionPath(NODE_MAINTENANCES), { body });
    }),
    attacks: NODE_AND_AGENT,
  },
];
