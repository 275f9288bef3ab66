/** What a person agrees to with a drain, as `kubectl drain` asks for it. */
import type { KeptPods } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { firstNames } from '../name-list.ts';
import { drainPodOf, type PodLoss, podName } from '../pod.ts';
import { isKept } from './kept-pods.ts';

/** The words of --keep. */
export const KEEP_WORDS = {
  daemonsets: 'DaemonSet',
  static: 'Static',
  unmanaged: 'Unmanaged',
  emptydir: 'EmptyDir',
} as const satisfies Record<string, KeptPods>;

/** What a person has said about the pods of a drain. */
export interface Consent {
  /** The kinds that are to stay. */
  readonly keep: readonly KeptPods[];
  /** What may be lost. */
  readonly lose: readonly PodLoss[];
}

const LOSSES: readonly {
  readonly loss: PodLoss;
  readonly why: string;
  readonly flag: string;
  readonly word: string;
}[] = [
  {
    loss: 'Unmanaged',
    why: 'no controller owns these pods, and nothing would create them again',
    flag: '--delete-unmanaged',
    word: 'unmanaged',
  },
  {
    loss: 'EmptyDir',
    why: 'the data of these pods in emptyDir volumes would be lost',
    flag: '--delete-emptydir-data',
    word: 'emptydir',
  },
];
const MAX_NAMES = 10;

/** The flag with which a person agrees to the loss. */
export function flagOfLoss(loss: PodLoss): string {
  return LOSSES.find((each) => each.loss === loss)?.flag ?? '';
}

/** What a maintenance keeps: what is to stay, and what nobody has agreed to lose, should such a pod come before the drain. */
export function keepPodsOf({ keep, lose }: Consent): readonly KeptPods[] {
  const unspoken = LOSSES.map(({ loss }) => loss).filter((loss) => !lose.includes(loss));
  return Object.values(KEEP_WORDS).filter((kind) => keep.includes(kind) || unspoken.some((loss) => loss === kind));
}

/** Which of the pods a drain would lose without consent, and how to give it, in a sentence; undefined where it loses none. */
export function missingConsent(pods: readonly Pod[], { keep, lose }: Consent): string | undefined {
  const leaving = pods.map(drainPodOf).filter((pod) => !isKept(keep, pod));
  const texts = LOSSES.flatMap(({ loss, why, flag, word }) => {
    const lost = lose.includes(loss) ? [] : leaving.filter(({ lossOf = [] }) => lossOf.includes(loss));
    if (lost.length === 0) return [];
    const names = lost.map(podName).toSorted();
    return [`${why}: ${firstNames(names, MAX_NAMES)}; use ${flag}, or leave them with --keep ${word}`];
  });
  return texts.length === 0 ? undefined : texts.join('. Also, ');
}
