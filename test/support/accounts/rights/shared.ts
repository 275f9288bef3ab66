/** Rights that the controller and the add-on `nodemaint lifecycle` have for the same reasons. */
import type { Right } from '../account.ts';

const EVENTS = { group: '', resources: ['events'], usedBy: ['src/kube/events.ts'] } as const;

/** Events of its own; `policy` restricts them. */
export function eventRights(policy: string): readonly Right[] {
  return [
    { ...EVENTS, verbs: ['get'], why: 'whether an Event of this name is its own', fence: { alone: 'reading' } },
    {
      ...EVENTS,
      verbs: ['create', 'patch'],
      why: 'what happened, counted',
      fence: { policies: [policy], leaves: 'Events that name it as their reporter' },
    },
  ];
}

/** The budgets of the pods that it evicts, which `usedBy` watches. */
export function budgetRight(usedBy: string): Right {
  return {
    group: 'policy',
    resources: ['poddisruptionbudgets'],
    verbs: ['list', 'watch'],
    why: 'why a pod is blocked, and when to try again',
    usedBy: [usedBy],
    fence: { alone: 'reading' },
  };
}

/** Its evictions, as the last of the `role` that a pod has. */
export function evictionRight(role: 'interceptor' | 'responder', policy: string, leaves: string): Right {
  return {
    group: '',
    resources: ['pods/eviction'],
    verbs: ['create'],
    why: `the last ${role} of every pod`,
    usedBy: ['src/kube/eviction/evictor.ts'],
    fence: { policies: [policy], leaves },
  };
}

/** What it marks a pod with that its controller is to take over. */
export const EVICT_MARK = {
  why: 'the mark `kubernetes.io/pod-evict-wanted`',
  usedBy: ['src/kube/eviction/evict-mark.ts'],
} as const;
