import { counted } from '../../decide/counted.ts';
import type { AgentStatus } from '../../agent/control/status.ts';
import { deadlineIn, rfc3339 } from '../../decide/time.ts';
import { formatTable } from '../terminal/table.ts';
import { formatAge, formatSpan } from '../../decide/duration.ts';
import { namesWithin } from '../../decide/name-list.ts';
import { readInterceptorMessage, shortMessage } from '../../decide/interceptor/message.ts';

type Waiting = AgentStatus['waitingFor'][number];

/** The names of pods that wait for the same take so much of the width; the others are counted. */
const NAMES_SHARE = 0.3;
/** The same in a file, in characters. */
const NAMES_WIDTH = 80;

function expectedText(at: number | undefined, now: number): string {
  if (at === undefined) return '-';
  return at > now ? `in ${formatSpan(at - now)}` : `${formatSpan(now - at)} late`;
}

/** Who acts on the pod and what is said; a message that names its pod would keep pods apart that wait for the same. */
function actorText({ on, message }: Waiting): string {
  const ending = readInterceptorMessage(message);
  const isEnding = ending.kind === 'ending' && ending.more === '';
  const said = isEnding ? 'is terminating' : shortMessage(message);
  return said === '' ? on : `${on}: ${said}`;
}

/** Pods that wait for the same as one row: since when the first of them does, and when the last is expected to have left. */
function waitingRow(group: readonly Waiting[], width: number, now: number): readonly string[] {
  const [first] = group;
  if (first === undefined) return [];
  const since = group.flatMap((each) => each.since ?? []);
  const expected = group.flatMap(({ expectedAt }) => expectedAt ?? []);
  return [
    namesWithin(
      group.map(({ what }) => what),
      width,
    ),
    since.length === 0 ? '-' : formatSpan(now - Math.min(...since)),
    expectedText(expected.length < group.length ? undefined : Math.max(...expected), now),
    actorText(first),
  ];
}

function formatWaiting({ waitingFor }: AgentStatus, now: number, columns: number): string {
  if (waitingFor.length === 0) return 'Waiting for:  nothing';
  const groups = Map.groupBy(waitingFor, actorText);
  const rows = [...groups.values()].map((group) =>
    waitingRow(group, Math.min(NAMES_WIDTH, NAMES_SHARE * columns), now),
  );
  const table = formatTable([['POD', 'SINCE', 'EXPECTED', 'WAITING ON'], ...rows], columns - 2);
  const areAllPods = waitingFor.every(({ what }) => what.includes('/'));
  const count = counted(waitingFor.length, areAllPods ? 'pod' : 'thing', areAllPods ? 'pods' : 'things');
  return `Waiting for:  ${count}\n${table.replace(/^/gm, '  ')}`;
}

/** The state of the controller, where it does not drain the node. */
function describeController({ controller }: AgentStatus): string[][] {
  if (controller === undefined || controller.state === 'alive') return [];
  const span = formatSpan(controller.silentMs);
  const words = {
    unknown: 'not known yet whether one is alive',
    dead: `no controller is alive (for at least ${span}); this agent drains its own node`,
    idle: `it renews its Lease and does nothing for this shutdown (for ${span}); this agent drains its own node`,
  }[controller.state];
  return [['Controller:', words]];
}

/** How long the lock delays a shutdown, and what ends it sooner. */
function describeDelay({ delay, deadManMs }: AgentStatus['lock']): string[][] {
  if (delay === undefined) return [];
  const file = delay.file === undefined ? 'the default' : delay.file;
  const dead = deadManMs === undefined ? '' : `; ${formatSpan(deadManMs)} if the agent stops`;
  const limit = `at most ${formatAge(delay.limitMs)} (${file})${dead}`;
  return [['Delay:', limit], ...(delay.problem === undefined ? [] : [['', `WARNING: ${delay.problem}`]])];
}

function lockText({ phase, lock: { kind, held, message } }: AgentStatus): string {
  if (kind === 'none') return 'none (the key "lock"): a shutdown does not wait for this node';
  if (phase.kind === 'released') return `released (${kind}): the machine may go down`;
  return held ? `held (${kind})` : `NOT HELD (${kind}: ${message})`;
}

/** When the machine of a shutdown will be gone, and who says so. */
function describeDeadline({ phase }: AgentStatus, now: number): string[][] {
  if ((phase.kind !== 'draining' && phase.kind !== 'released') || phase.deadline === undefined) return [];
  const { at, of, isHold } = phase.deadline;
  const who = isHold === true ? ' (the longest hold)' : of === undefined ? '' : ` (a ${of})`;
  return [['Deadline:', `${rfc3339(at)}, ${deadlineIn(at, now)}${who}`]];
}

/** The status of the agent as a table, for people. */
export function formatStatus(status: AgentStatus, now: number, columns: number = Infinity): string {
  const { phase, lock, cluster, maintenance } = status;
  const heard =
    cluster.heardAt === undefined ? 'no answer yet' : `last answer ${formatSpan(now - cluster.heardAt)} ago`;
  const parked = status.parked.length > 0 ? ` (${status.parked.join(', ')})` : '';
  const lines = [
    ['Node:', status.node],
    ['Phase:', `${phase.kind} for ${formatSpan(now - (status.phaseSince ?? status.startedAt))}: ${status.summary}`],
    ...(phase.kind === 'watching' ? [] : [['Reason:', phase.reason]]),
    ...describeDeadline(status, now),
    ['Lock:', lockText(status)],
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
    ['Static pods:', `${status.inPlace.length} in place, ${status.parked.length} parked${parked}`],
    ...(status.storageProblem === undefined
      ? []
      : [['WARNING:', `${status.storageProblem}; the agent continues from memory`]]),
    ...(cluster.problem === undefined ? [] : [['WARNING:', cluster.problem]]),
    ...status.warnings.map((warning) => ['WARNING:', warning]),
  ];
  return `${formatTable(lines, columns)}\n${formatWaiting(status, now, columns)}\n`;
}
