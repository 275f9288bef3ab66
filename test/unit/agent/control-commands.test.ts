import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControlCommands } from '../../../src/agent/control-commands.ts';
import type { CallingOff } from '../../../src/agent/phase/phase-machine.ts';
import type { ControlRequest } from '../../../src/agent/control/protocol.ts';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import type { Trigger } from '../../../src/decide/shutdown/trigger.ts';
import { DRAINING, SHUTDOWN } from '../../support/agent/phase-facts.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';

const LIVING = new AbortController().signal;
const OURS: Trigger = { reason: 'an update' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1_000_000, ...SHUTDOWN, origin: 'trigger' };

/** The commands of an agent that does not run yet, and what they did: manual requests, and that they woke the loop. */
function createCommands() {
  const calls: string[] = [];
  const log = createRecordingLog();
  const manual = {
    park: (file: string) => void calls.push(`park ${file}`),
    restore: (file: string) => void calls.push(`restore ${file}`),
  };
  const wakeup = { notify: () => void calls.push('wake') };
  return { commands: new ControlCommands({ manual, wakeup, clock: { now: () => 0 }, log }), calls, log };
}

/** What the agent knows when somebody speaks to it. */
interface Known {
  readonly phase: Phase;
  readonly inForce?: Trigger;
  readonly goesDown?: boolean;
  /** Whether the shutdown moves on while it is called off. */
  readonly moved?: boolean;
}

/** Says `verb` to an agent; returns the answer, whether a trigger applies afterwards, and what was written and done. */
async function said(verb: 'trigger' | 'cancel', { phase, inForce, goesDown = false, moved }: Known): Promise<string> {
  const acts: string[] = [];
  const agent = {
    status: () => ({ phase }) as AgentStatus,
    release: () => undefined,
    callOff: (_: Phase, { canceledBy, voidLogind }: CallingOff) => {
      if (verb === 'cancel') assert.equal(detector.triggered, inForce, 'it is written first');
      if (verb === 'cancel')
        acts.push(`canceled by ${canceledBy}${voidLogind === undefined ? '' : ` at ${voidLogind}`}`);
      else acts.push('anew');
      return Promise.resolve(moved !== true);
    },
  };
  const detector = {
    triggered: inForce,
    cancelScheduled: () => Promise.resolve(void acts.push('scheduled')),
    course: () => Promise.resolve(goesDown ? ({ kind: 'prepared', logind: 100 } as const) : ({ kind: 'up' } as const)),
  };
  const { commands } = createCommands();
  commands.serve({ agent, detector, living: LIVING });
  const request = verb === 'cancel' ? { verb } : { verb, reason: 'an update' };
  const { says } = (await commands.handle(request)) as { readonly says: string };
  return `${says} [${[detector.triggered === undefined ? 'none' : 'in force', ...acts].join(', ')}]`;
}

describe('the answers to a client that announces a shutdown or takes it back', () => {
  const rows: [string, 'trigger' | 'cancel', Known, RegExp][] = [
    [
      'a trigger begins a drain',
      'trigger',
      { phase: { kind: 'watching' } },
      /^The agent is draining this node.*\[in force\]$/,
    ],
    [
      'a trigger while the node drains already',
      'trigger',
      { phase: DRAINING },
      /^A shutdown is held already.*\[in force\]$/,
    ],
    [
      'a trigger after the pods have left begins anew where nothing else takes the machine down',
      'trigger',
      { phase: RELEASED },
      /^The agent is draining this node.*\[in force, anew\]$/,
    ],
    [
      'a trigger after the pods have left says that the machine may go down',
      'trigger',
      { phase: RELEASED, inForce: OURS },
      /^Nothing is drained again: .*the machine may go down.*\[in force\]$/,
    ],
    [
      'a trigger while logind takes the machine down says so too',
      'trigger',
      { phase: { ...RELEASED, origin: 'logind' }, goesDown: true },
      /^Nothing is drained again/,
    ],
    [
      'a cancel in mid-drain',
      'cancel',
      { phase: { ...DRAINING, origin: 'trigger' }, inForce: OURS },
      /^The shutdown is canceled; .*\[none, canceled by root\]$/,
    ],
    [
      'a cancel after the pods have left is true at once',
      'cancel',
      { phase: RELEASED, inForce: OURS },
      /^The shutdown is canceled; .*\[none, canceled by root\]$/,
    ],
    [
      'a cancel while the machine goes down all the same',
      'cancel',
      { phase: RELEASED, inForce: OURS, goesDown: true },
      /^The announcement is taken back, but the machine goes down all the same.*\[none\]$/,
    ],
    [
      'a cancel while a notice takes the machine away',
      'cancel',
      { phase: { ...RELEASED, origin: 'notice' }, inForce: OURS },
      /^The announcement is taken back, but the machine goes down all the same.*\[none\]$/,
    ],
    ['cancel of nothing', 'cancel', { phase: { kind: 'watching' } }, /^No shutdown is announced; nothing is canceled/],
  ];
  for (const [name, verb, known, expected] of rows) {
    it(name, async () => {
      assert.match(await said(verb, known), expected);
    });
  }

  it('a cancel of what logind prepares is written down with that logind', async () => {
    assert.match(
      await said('cancel', { phase: DRAINING, goesDown: true }),
      /canceled; .* \[none, canceled by root at 100\]$/,
    );
  });

  it('a cancel is not said to be done where the shutdown has moved on meanwhile', async () => {
    const released = said('cancel', { phase: DRAINING, goesDown: true, moved: true });
    await assert.rejects(released, { code: 'USAGE', message: /has just moved on; try again/ });
  });
});

describe('the commands of the control socket', () => {
  it('a manual request is taken before the agent is ready, every other command is refused', async () => {
    const { commands, calls } = createCommands();
    assert.deepEqual(await commands.handle({ verb: 'park', file: 'etcd.yaml' }), { done: 'park' });
    const others: readonly ControlRequest[] = [
      { verb: 'status' },
      { verb: 'cancel' },
      { verb: 'trigger', reason: 'r' },
      { verb: 'release', reason: 'r' },
    ];
    for (const request of others) {
      await assert.rejects(commands.handle(request), { code: 'CONTROL_SOCKET_UNAVAILABLE' });
    }
    assert.deepEqual(calls, ['park etcd.yaml', 'wake']);
  });

  it('each command calls its part of the agent, is logged, and wakes the loop; the status does not', async () => {
    const { commands, calls, log } = createCommands();
    const agent = {
      status: () => ({ node: 'node-a', phase: { kind: 'watching' } }) as AgentStatus,
      release: (reason: string) => void calls.push(`release ${reason}`),
      callOff: () => Promise.resolve(true),
    };
    const detector = {
      triggered: undefined as Trigger | undefined,
      cancelScheduled: () => Promise.resolve(),
      course: () => Promise.resolve({ kind: 'up' } as const),
    };
    commands.serve({ agent, detector, living: LIVING });
    await commands.handle({ verb: 'trigger', reason: 'power', deadlineMs: 60_000 });
    await commands.handle({ verb: 'release', reason: 'hurry' });
    await commands.handle({ verb: 'restore', file: 'etcd.yaml' });
    assert.equal(((await commands.handle({ verb: 'status' })) as AgentStatus).node, 'node-a');
    assert.deepEqual(detector.triggered, { reason: 'power', deadline: 60_000 });
    assert.deepEqual(calls, ['wake', 'release hurry', 'wake', 'restore etcd.yaml', 'wake']);
    const told = log.lines.filter((line) => line.includes('told over the control socket'));
    assert.match(told[0] ?? '', /"verb":"trigger"/);
    assert.equal(told.length, 3);
  });
});
