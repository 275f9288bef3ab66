import type { RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import type { Log } from '../../telemetry/log.ts';

/** Anybody can start such processes as fast as they like: no more lines than this in an hour. */
const MAX_LINES = 20;
const HOUR_MS = 3_600_000;

/** What is told of processes that call themselves a kubelet and are not believed. */
interface KubeletRefusals {
  /** Takes what one look found; each process is logged once. */
  readonly tell: (refused: readonly RefusedKubelet[]) => void;
}

/** Makes the teller; `now` is a monotonic clock in milliseconds. */
export function createKubeletRefusals(log: Pick<Log, 'warn'>, now: () => number): KubeletRefusals {
  const said = new Map<string, number>();
  let isFull = false;
  return {
    tell: (refused) => {
      for (const [key, at] of said)
        if (now() - at > HOUR_MS && !refused.some((each) => keyOf(each) === key)) said.delete(key);
      for (const each of refused) {
        if (said.has(keyOf(each))) continue;
        if (said.size >= MAX_LINES) {
          if (!isFull) log.warn({ limit: MAX_LINES }, 'more processes that call themselves kubelet are not named');
          isFull = true;
          return;
        }
        isFull = false;
        said.set(keyOf(each), now());
        log.warn({ ...each }, 'a process that calls itself kubelet is not believed');
      }
    },
  };
}

function keyOf({ pid, reason }: RefusedKubelet): string {
  return `${pid} ${reason}`;
}
