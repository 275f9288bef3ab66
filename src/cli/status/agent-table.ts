import type { AgentStatus } from '../../agent/control/status.ts';
import { formatTable } from '../terminal/text.ts';
import { shortCause } from '../../decide/view/blocking-causes.ts';
import { formatSpan } from '../../decide/duration.ts';

function formatWaiting(status: AgentStatus, now: number): string {
  if (status.waitingFor.length === 0) return 'Waiting for:  nothing';
  const rows = status.waitingFor.map(({ what, on, message, since, expectedAt }) => [
    what,
    on,
    since === undefined ? '-' : formatSpan(now - since),
    expectedAt === undefined
      ? '-'
      : expectedAt > now
        ? `in ${formatSpan(expectedAt - now)}`
        : `${formatSpan(now - expectedAt)} late`,
    shortCause(message),
  ]);
  const table = formatTable([['POD', 'WAITING ON', 'SINCE', 'EXPECTED', 'MESSAGE'], ...rows]);
  return `Waiting for:\n${table.replace(/^/gm, '  ')}`;
}

/** The state of the controller, where it does not drain the node. */
function describeController({ controller }: AgentStatus): string[][] {
  if (controller === undefined || controller.state === 'alive') return [];
  const words =
    controller.state === 'unknown'
      ? 'not known yet whether one is alive'
      : `no controller is alive (for at least ${formatSpan(controller.silentMs)}); this agent drains its own node`;
  return [['Controller:', words]];
}

/** How long the lock delays a shutdown, and what ends it sooner. */
function describeDelay({ delay, deadManMs }: AgentStatus['lock']): string[][] {
  if (delay === undefined) return [];
  const file = delay.file === undefined ? 'the default' : delay.file;
  const dead = deadManMs === undefined ? '' : `; ${formatSpan(deadManMs)} if the agent stops`;
  const limit = `at most ${formatSpan(delay.limitMs)} (${file})${dead}`;
  return [['Delay:', limit], ...(delay.problem === undefined ? [] : [['', `WARNING: ${delay.problem}`]])];
}

/** The status of the agent as a table, for people. */
export function formatStatus(status: AgentStatus, now: number): string {
  const { phase, lock, cluster, maintenance } = status;
  const since = phase.kind === 'watching' ? status.startedAt : phase.since;
  const heard =
    cluster.heardAt === undefined ? 'no answer yet' : `last answer ${formatSpan(now - cluster.heardAt)} ago`;
  const lines = [
    ['Node:', status.node],
    ['Phase:', `${phase.kind} for ${formatSpan(now - since)}: ${status.summary}`],
    ...(phase.kind === 'watching' ? [] : [['Reason:', phase.reason]]),
    ['Lock:', `${lock.held ? 'held' : 'NOT HELD'} (${lock.kind}${lock.held ? '' : `: ${lock.message}`})`],
    ...describeDelay(lock),
    ...(lock.others ?? []).map((other) => ['Delayed by:', other]),
    ...(status.scheduled === null
      ? []
      : [['Scheduled:', `${status.scheduled.kind} in ${formatSpan(status.scheduled.at - now)}`]]),
    ['Cluster:', cluster.configured ? `${cluster.server}, ${heard}` : 'none configured, standalone'],
    ...describeController(status),
    ...(maintenance === null
      ? []
      : [['Maintenance:', [maintenance.name, maintenance.message].filter(Boolean).join(': ')]]),
    [
      'Static pods:',
      `${status.inPlace.length} in place, ${status.parked.length} parked${status.parked.length > 0 ? ` (${status.parked.join(', ')})` : ''}`,
    ],
    ...(status.storageProblem === undefined
      ? []
      : [['WARNING:', `${status.storageProblem}; the agent continues from memory`]]),
    ...status.warnings.map((warning) => ['WARNING:', warning]),
  ];
  return `${formatTable(lines)}\n${formatWaiting(status, now)}\n`;
}
