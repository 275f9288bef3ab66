import { isNamed, type Phase } from './phase.ts';

/** What the journal says of a parked manifest. */
interface ParkedFor {
  readonly maintenance: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly bootId: string;
  /** Whether it was parked for a shutdown of this node. */
  readonly shutdown?: boolean | undefined;
}

/**
 * The phase at a start: the recorded one, unless the journal knows of a shutdown that the record does not, because the
 * disk took the one and not the other. The boot ended that shutdown, so what it parked is to be put back, and nothing of
 * that may wait for an API server that perhaps lies parked itself.
 */
export function phaseAtStart(recorded: Phase, parked: Iterable<ParkedFor>, bootId: string): Phase {
  if (recorded.kind === 'draining' || recorded.kind === 'released') return recorded;
  const steps = [...parked].filter((step) => step.shutdown === true && step.bootId !== bootId);
  const last = steps.sort((a, b) => a.at - b.at).at(-1);
  if (last === undefined || (recorded.kind === 'recovering' && isNamed(recorded, last.maintenance))) return recorded;
  const { maintenance, at: since, bootId: endedBoot } = last;
  // The NodeMaintenance of one shutdown may have had several names.
  const from = [...new Set(steps.map((step) => step.maintenance))].filter((name) => name !== maintenance);
  const renamed = from.length === 0 ? {} : { renamed: { from, deleted: 0, sinceBootMs: 0 } };
  const reason = 'a shutdown of which the disk has no record';
  const shutdown = {
    maintenance,
    ...renamed,
    mode: 'offline',
    origin: 'logind',
    reason,
    since,
    bootId: endedBoot,
  } as const;
  return { kind: 'recovering', cause: 'boot', ...shutdown };
}
