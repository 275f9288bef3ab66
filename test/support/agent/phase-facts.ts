import type { Phase, PhaseFacts, Shutdown } from '../../../src/decide/shutdown/phase.ts';
import { decidePhase } from '../../../src/decide/shutdown/transition.ts';

/** A machine that stays up, and a cluster that answers. */
export const FACTS: PhaseFacts = {
  now: 1_000_000,
  sinceBootMs: 50_000,
  bootId: 'boot-1',
  nodeName: 'node-a',
  goingDown: { kind: 'no' },
  clusterConfigured: true,
  askedSinceBootMs: 50_000,
  apiWaitMs: 15_000,
  maintenance: 'open',
  freeName: 'shutdown-node-a-7',
  progressWaitMs: 300_000,
  stall: undefined,
  stand: 'asks',
  nodeGoneMs: 0,
  handedOver: false,
  handingOver: false,
  manifestsStuck: false,
  drained: false,
  left: undefined,
  endsAlone: undefined,
  running: undefined,
  release: undefined,
  maxHoldMs: undefined,
  recovered: false,
};
/** The machine goes down. */
export const YES = { kind: 'yes', origin: 'logind', reason: 'node reboot' } as const;
/** A shutdown that was seen at the moment of FACTS. */
export const SHUTDOWN = {
  maintenance: 'shutdown-node-a-rs',
  mode: 'cluster',
  origin: 'logind',
  reason: 'node reboot',
  since: 1_000_000,
  bootId: 'boot-1',
} as const;
/** Its drain, before the API server has taken its NodeMaintenance. */
export const UNTAKEN: Extract<Phase, { readonly kind: 'draining' }> = { kind: 'draining', ...SHUTDOWN };
/** The same when it has. */
export const DRAINING: typeof UNTAKEN = { ...UNTAKEN, stand: 'asks' };

/** The kind of a phase, its mode, and the cause of a recovery. */
export function describeState(phase: Phase): string {
  if (phase.kind === 'watching') return phase.kind;
  return [phase.kind, phase.mode, ...(phase.kind === 'recovering' ? [phase.cause] : [])].join(' ');
}

/** The phase after the facts: the same object where nothing happens. */
export function phaseAfter(phase: Phase, facts: PhaseFacts): Phase {
  return decidePhase(phase, facts)?.to ?? phase;
}

/** The phase of the drain `m` of a shutdown, except for `more`. */
export function drainingPhase(
  mode: Shutdown['mode'],
  more: Partial<Shutdown> = {},
): Extract<Phase, { kind: 'draining' }> {
  const asked = { origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
  return { kind: 'draining', mode, maintenance: 'm', ...asked, ...more };
}
