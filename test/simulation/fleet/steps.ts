/** What happens to a fleet: people, machines, networks, policies and programs that end. */
import { collectionPath, EVICTION_REQUESTS, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import type { ShutdownKind } from '../../../src/decide/shutdown/kind.ts';
import type { Arguments } from '../../chaos/history.ts';
import type { Random } from '../../chaos/random.ts';
import { maintenanceOf } from '../../support/maintenance/objects.ts';
import type { Fleet } from './fleet.ts';
import type { FleetMachine } from './machine.ts';
import { type Refused, REFUSALS } from './refusals.ts';

/** A kind of step, as in the chaos test. */
interface FleetStep {
  /** How often it is drawn, compared with the other kinds. */
  readonly weight: number;
  draw(random: Random, nodes: number): Arguments;
  perform(fleet: Fleet, step: Arguments): void | Promise<void>;
}

/** For ever, as far as a history lasts. */
const EVER = 1e9;
const SHORT = [3_000, 20_000, 45_000, 90_000, 600_000, EVER] as const;
const REFUSED = Object.keys(REFUSALS) as [Refused, ...Refused[]];
const KINDS = ['reboot', 'reboot', 'reboot', 'poweroff', 'unknown'] as const;

const node = (random: Random, nodes: number): Arguments => ({ node: random.whole(nodes) });

function machineOf(fleet: Fleet, step: Arguments): FleetMachine {
  const machine = fleet.machines[Number(step['node']) % fleet.machines.length];
  if (machine === undefined) throw new Error('a fleet has at least one machine');
  return machine;
}

/** How long a machine is away: a reboot takes a minute or four, or the machine does not come back. */
const drawAway = (random: Random): number => random.pick([60_000, 60_000, 240_000, EVER]);

function shutDown(machine: FleetMachine, step: Arguments): void {
  const kind = step['kind'] === 'unknown' ? undefined : (step['kind'] as ShutdownKind);
  machine.shutDown(kind, kind === 'poweroff' ? Infinity : Number(step['awayMs']));
}

/** The API server goes away just after a write of the agent: its answer may still come, and what the write has changed is not heard. */
const drawCut = (random: Random): Arguments => ({
  cutAt: random.pick([1, 1, 2, 3]),
  afterMs: random.pick([2, 5, 8, 12, 30]),
  cutMs: random.pick([45_000, 600_000, EVER, EVER]),
});

function cutAtWrite(fleet: Fleet, machine: FleetMachine, step: Arguments): void {
  fleet.onWrite(machine.user, Number(step['cutAt']), () => {
    fleet.time.after(Number(step['afterMs']), () => fleet.access.cutOff([machine], Number(step['cutMs'])));
  });
}

const nameOf = (step: Arguments): string => `person-${step['node']}`;

/** The paths of what a machine has: the maintenances of its shutdowns, its applications, or the requests for these. */
function pathsOf(fleet: Fleet, { name }: FleetMachine, what: unknown): readonly string[] {
  const own = fleet.maintenances().filter(({ metadata }) => metadata.name.startsWith(`shutdown-${name}-`));
  if (what === 'shutdown') return own.map(({ metadata }) => objectPath(NODE_MAINTENANCES, metadata));
  const pods = fleet.pods().filter(({ metadata, spec }) => spec.nodeName === name && metadata.namespace === 'apps');
  if (what === 'pods') return pods.map(({ metadata }) => objectPath(PODS, metadata));
  const requests = fleet.requests().filter(({ metadata }) => pods.some((pod) => pod.metadata.uid === metadata.name));
  return requests.map(({ metadata }) => objectPath(EVICTION_REQUESTS, metadata));
}

function complete(fleet: Fleet, path: string): void {
  fleet.send({ method: 'PATCH', path, body: { spec: { stage: 'Complete' } }, patch: { kind: 'merge' } });
}

/** Somebody completes every maintenance. */
export function completeAll(fleet: Fleet): void {
  for (const { metadata } of fleet.maintenances()) complete(fleet, objectPath(NODE_MAINTENANCES, metadata));
}

/** All kinds. */
export const FLEET_STEPS: Readonly<Record<string, FleetStep>> = {
  'shut down': {
    weight: 10,
    draw: (random, nodes) => ({
      ...node(random, nodes),
      kind: random.pick(KINDS),
      awayMs: drawAway(random),
      ...(random.whole(5) === 0 ? drawCut(random) : {}),
    }),
    perform: (fleet, step) => {
      const machine = machineOf(fleet, step);
      if (step['cutAt'] !== undefined) cutAtWrite(fleet, machine, step);
      shutDown(machine, step);
    },
  },
  'shut down all': {
    weight: 3,
    draw: (random) => ({ kind: random.pick(KINDS), awayMs: drawAway(random) }),
    perform: (fleet, step) => {
      for (const machine of fleet.machines) shutDown(machine, step);
    },
  },
  'call off': { weight: 1, draw: node, perform: (fleet, step) => machineOf(fleet, step).callOff() },
  wait: {
    weight: 8,
    draw: (random) => ({ ms: random.pick([300, 3_000, 20_000, 70_000, 300_000, 1_000_000]) }),
    perform: async ({ time }, { ms }) => await time.pass(Number(ms)),
  },
  'drain node': {
    weight: 2,
    draw: node,
    perform: (fleet, step) => {
      const nodeSelector = {
        nodeSelectorTerms: [
          { matchFields: [{ key: 'metadata.name', operator: 'In', values: [machineOf(fleet, step).name] }] },
        ],
      };
      const body = maintenanceOf({ nodeSelector, stage: 'Drain', reason: 'a person' }, { name: nameOf(step) });
      fleet.send({ method: 'POST', path: collectionPath(NODE_MAINTENANCES), body });
    },
  },
  complete: {
    weight: 2,
    draw: (random, nodes) => ({ ...node(random, nodes), whose: random.pick(['person', 'machine']) }),
    perform: (fleet, step) => {
      const person = objectPath(NODE_MAINTENANCES, { name: nameOf(step) });
      const paths = step['whose'] === 'person' ? [person] : pathsOf(fleet, machineOf(fleet, step), 'shutdown');
      for (const path of paths) complete(fleet, path);
    },
  },
  delete: {
    weight: 2,
    draw: (random, nodes) => ({ ...node(random, nodes), what: random.pick(['shutdown', 'requests', 'pods']) }),
    perform: (fleet, step) => {
      const paths = pathsOf(fleet, machineOf(fleet, step), step['what']);
      for (const path of paths) fleet.send({ method: 'DELETE', path });
    },
  },
  'cut off node': {
    weight: 3,
    draw: (random, nodes) => ({ ...node(random, nodes), ms: random.pick(SHORT) }),
    perform: (fleet, step) => fleet.access.cutOff([machineOf(fleet, step)], Number(step['ms'])),
  },
  'cut off all': {
    weight: 3,
    draw: (random) => ({ ms: random.pick(SHORT) }),
    perform: (fleet, { ms }) => fleet.access.cutOff('all', Number(ms)),
  },
  refuse: {
    weight: 3,
    draw: (random) => ({ what: random.pick(REFUSED), ms: random.pick(SHORT) }),
    perform: (fleet, step) => fleet.access.refuse(step['what'] as Refused, Number(step['ms'])),
  },
  'stop kubelet': {
    weight: 2,
    draw: (random, nodes) => ({ ...node(random, nodes), ms: random.pick(SHORT) }),
    perform: (fleet, step) => machineOf(fleet, step).stopKubelet(Number(step['ms'])),
  },
  'disturb runtime': {
    weight: 1,
    draw: (random, nodes) => ({ ...node(random, nodes), how: random.pick(['away', 'silent']), ms: random.pick(SHORT) }),
    perform: (fleet, step) => {
      machineOf(fleet, step).containers.disturb(step['how'] as 'away' | 'silent', Number(step['ms']));
    },
  },
  'kill agent': { weight: 1, draw: node, perform: (fleet, step) => machineOf(fleet, step).killAgent() },
  'kill agent at a write': {
    weight: 2,
    draw: (random, nodes) => ({ ...node(random, nodes), writes: 1 + random.whole(6), arrives: random.whole(2) }),
    perform: (fleet, step) => machineOf(fleet, step).killAgentAtWrite(Number(step['writes']), step['arrives'] === 1),
  },
  'scale controller': {
    weight: 2,
    draw: (random) => ({ replicas: random.whole(3) }),
    perform: (fleet, { replicas }) => fleet.scaleController(Number(replicas)),
  },
  'cut power': {
    weight: 1,
    draw: (random, nodes) => ({ ...node(random, nodes), awayMs: drawAway(random) }),
    perform: (fleet, step) => {
      fleet.powerCutAt = fleet.now();
      machineOf(fleet, step).cutPower(Number(step['awayMs']));
    },
  },
};
