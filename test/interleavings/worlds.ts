/** The small worlds that can be explored: what each begins with, and what happens in it, in any order. */
import type { Step } from '../chaos/history.ts';

/** A small world. Its steps are those of the chaos test. */
export interface SmallWorld {
  readonly nodes: number;
  /** What is there before anything is explored, in this order. */
  readonly opening: readonly Step[];
  /** What people, kubectl and autoscalers do, each once, at any time and in any order. */
  readonly events: readonly Step[];
  /** How often the controller ends at any moment and another one takes over. */
  readonly takeOvers: number;
  /** How many looks of the controller may be under way at the same time. */
  readonly parallel: number;
}

const plain = (pod: number, node = 0): Step => ({
  do: 'create pod',
  with: { pod, node, sort: 'plain', namespace: 0 },
});
const maintenance = (number: number, stage: string, selector = 'node 0'): Step => ({
  do: 'create maintenance',
  with: { maintenance: number, selector, stage, plan: 'default' },
});
const setStage = (number: number, stage: string): Step => ({ do: 'set stage', with: { maintenance: number, stage } });
const remove = (number: number): Step => ({ do: 'delete maintenance', with: { maintenance: number } });

export const WORLDS: Readonly<Record<string, SmallWorld>> = {
  /** One node with two pods is drained, and a person completes that at any moment. */
  'two pods': {
    nodes: 1,
    opening: [plain(0), plain(1), maintenance(0, 'Drain')],
    events: [setStage(0, 'Complete')],
    takeOvers: 0,
    parallel: 1,
  },
  /** The same with one pod. */
  small: {
    nodes: 1,
    opening: [plain(0), maintenance(0, 'Drain')],
    events: [setStage(0, 'Complete')],
    takeOvers: 0,
    parallel: 1,
  },
  /** One pod that a budget keeps, and nothing happens. */
  closed: {
    nodes: 1,
    opening: [plain(0), { do: 'set budget', with: { state: 'closed' } }, maintenance(0, 'Drain')],
    events: [],
    takeOvers: 0,
    parallel: 1,
  },
  /** The same, and a person completes that at any moment. */
  blocked: {
    nodes: 1,
    opening: [plain(0), { do: 'set budget', with: { state: 'closed' } }, maintenance(0, 'Drain')],
    events: [setStage(0, 'Complete')],
    takeOvers: 0,
    parallel: 1,
  },
  /** As small, and the controller ends at any moment, also between two writes. */
  'take over': {
    nodes: 1,
    opening: [plain(0), maintenance(0, 'Drain')],
    events: [setStage(0, 'Complete')],
    takeOvers: 1,
    parallel: 1,
  },
  /** Two maintenances of one node: one is completed, the other deleted; kubectl uncordons. */
  'two maintenances': {
    nodes: 1,
    opening: [plain(0), maintenance(0, 'Drain'), maintenance(1, 'Cordon')],
    events: [setStage(0, 'Complete'), remove(1), { do: 'uncordon node', with: { node: 0 } }],
    takeOvers: 0,
    parallel: 1,
  },
  /** The pods of a node leave in the order of the plan: a static pod after the others. */
  tiers: {
    nodes: 2,
    opening: [
      { do: 'label node', with: { node: 1 } },
      { do: 'add static pod', with: { static: 0, node: 1 } },
      plain(1, 1),
      maintenance(0, 'Drain', 'labelled'),
    ],
    events: [remove(0)],
    takeOvers: 0,
    parallel: 1,
  },
  /** Three pods with one budget that is closed and opened; kubectl deletes a pod. */
  budget: {
    nodes: 1,
    opening: [plain(0), plain(1), { do: 'set budget', with: { state: 'closed' } }, maintenance(0, 'Drain')],
    events: [
      { do: 'set budget', with: { state: 'open' } },
      { do: 'delete pod', with: { pod: 0 } },
      setStage(0, 'Complete'),
    ],
    takeOvers: 0,
    parallel: 1,
  },
  /** An autoscaler deletes the node in mid-drain, and a person ends the maintenance. */
  autoscaler: {
    nodes: 2,
    opening: [plain(0), plain(1, 1), maintenance(0, 'Drain', 'nodes 0 and 1')],
    events: [{ do: 'delete node', with: { node: 0 } }, remove(0)],
    takeOvers: 1,
    parallel: 1,
  },
  /** A person's cordon stays, whatever maintenances do. */
  'cordon of a person': {
    nodes: 1,
    opening: [{ do: 'cordon node', with: { node: 0 } }, plain(0), maintenance(0, 'Idle'), maintenance(1, 'Cordon')],
    events: [setStage(0, 'Drain'), remove(1), setStage(0, 'Complete')],
    takeOvers: 1,
    parallel: 1,
  },
  /** A node without pods is cordoned and given back, and nothing else happens. */
  'cordon only': { nodes: 1, opening: [maintenance(0, 'Cordon')], events: [], takeOvers: 1, parallel: 2 },
  /** A person cordons a node that a maintenance is about to cordon, or has cordoned. */
  'person cordons': {
    nodes: 1,
    opening: [maintenance(0, 'Cordon')],
    events: [{ do: 'cordon node', with: { node: 0 } }, setStage(0, 'Complete')],
    takeOvers: 1,
    parallel: 1,
  },
  /** Another program adds a finalizer of its own to a maintenance that begins and ends. */
  finalizers: {
    nodes: 1,
    opening: [maintenance(0, 'Cordon')],
    events: [{ do: 'add foreign finalizer', with: { maintenance: 0 } }, setStage(0, 'Complete')],
    takeOvers: 1,
    parallel: 1,
  },
  /** A pod ends by itself, and another one of its name is made on a node that is not under maintenance. */
  namesake: {
    nodes: 2,
    opening: [plain(0), maintenance(0, 'Drain')],
    events: [{ do: 'delete pod', with: { pod: 0 } }, plain(0, 1)],
    takeOvers: 0,
    parallel: 1,
  },
  /** All of them together: what does not end in a day is explored for as long as it is told. */
  large: {
    nodes: 2,
    opening: [
      plain(0),
      plain(1),
      plain(2, 1),
      { do: 'set budget', with: { state: 'closed' } },
      maintenance(0, 'Drain'),
      maintenance(1, 'Idle', 'nodes 0 and 1'),
    ],
    events: [
      setStage(0, 'Complete'),
      setStage(1, 'Drain'),
      remove(1),
      { do: 'set budget', with: { state: 'open' } },
      { do: 'uncordon node', with: { node: 0 } },
      { do: 'delete node', with: { node: 1 } },
      { do: 'delete pod', with: { pod: 0 } },
    ],
    takeOvers: 1,
    parallel: 2,
  },
};
