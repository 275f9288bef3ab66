/** Pods that are terminating already when a deadline appears or comes closer. */
import type { Pod } from '../../api/pod.ts';
import { endOf } from '../pod.ts';

/** An end that would come earlier by less is not worth another order. */
const SLACK_MS = 2_000;

/**
 * The gracePeriodSeconds with which a terminating pod has to be deleted again, for it would end too late; undefined where
 * it need not. They count from the first order, so that deletionTimestamp is the new end; the API server takes only
 * less than before (apiserver pkg/registry/rest/delete.go, BeforeDelete). `budgetSec` is what a pod told `now`,
 * milliseconds since the epoch, would get; undefined for its own.
 */
export function decideShorterEnd(pod: Pod, budgetSec: number | undefined, now: number): number | undefined {
  const end = endOf(pod);
  if (end === undefined || budgetSec === undefined) return undefined;
  const { toldAt, endsAt } = end;
  if (now + budgetSec * 1000 + SLACK_MS >= endsAt) return undefined;
  return Math.max(1, Math.floor((now - toldAt) / 1000) + budgetSec);
}
