/**
 * What a node's shutdown does when its cluster goes away in the middle of the drain: the pods leave in order, and the
 * machine goes down. One machine, one case after the other; the gate leaves them out, each takes some minutes.
 */
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  assertBack,
  assertOrder,
  type ClusterNode,
  journalOfShutdown,
  say,
  startClusterNode,
} from './machine/cluster-node.ts';
import { WITNESS, witnessed } from './machine/witness.ts';
import { waitFor } from '../support/wait-for.ts';

/** Longer than an API server that stops for a minute, so that the drain still goes on when it is back. */
const LOGGER_SEC = 90;
/** Until the first pod is told to end. */
const DRAIN_MS = 120_000;
const REBOOT_MS = 420_000;

interface ClusterCase {
  readonly name: string;
  /** Makes the machine go down, and the cluster go away. */
  goDown(node: ClusterNode): Promise<void>;
  /** Where no API server ever hears of the shutdown. */
  readonly madeMaintenance?: false;
  /** After the machine went down. */
  afterwards(node: ClusterNode): Promise<void>;
}

/** Begins a reboot and resolves in the middle of its drain. */
async function midDrain({ machine }: ClusterNode): Promise<void> {
  await machine.must('systemctl reboot');
  await witnessed(machine, 'web TERM', DRAIN_MS);
}

/** Counts the boots by what the kernel says first on the serial console. */
async function boots({ machine }: ClusterNode): Promise<number> {
  return (await machine.serial()).split('Linux version ').length - 1;
}

async function followReboot(node: ClusterNode, before: number): Promise<void> {
  const more = async (): Promise<boolean> => (await boots(node)) > before;
  await waitFor('the machine reboots', more, { timeoutMs: REBOOT_MS });
}

const CASES: readonly ClusterCase[] = [
  {
    name: 'systemctl start reboot.target, past logind, without an API server',
    madeMaintenance: false,
    goDown: async ({ controlPlane, machine }) => {
      await controlPlane.stopApiServer();
      await machine.must('systemctl start --no-block reboot.target');
    },
    afterwards: ({ controlPlane }) => controlPlane.startApiServer(),
  },
  {
    name: 'the API server is stopped for a minute in mid-drain',
    goDown: async (node) => {
      await midDrain(node);
      await node.controlPlane.stopApiServer();
      await setTimeout(60_000);
      await node.controlPlane.startApiServer();
    },
    afterwards: () => Promise.resolve(),
  },
  {
    name: 'the API server is stopped for good in mid-drain',
    goDown: async (node) => {
      await midDrain(node);
      await node.controlPlane.stopApiServer();
    },
    afterwards: ({ controlPlane }) => controlPlane.startApiServer(),
  },
  {
    name: 'the network is cut in mid-drain',
    goDown: async (node) => {
      await midDrain(node);
      await node.machine.cable(false);
    },
    afterwards: ({ machine }) => machine.cable(true),
  },
];

describe('the shutdown of a real machine while its cluster is away', () => {
  const stack = new AsyncDisposableStack();
  let node: ClusterNode;

  before(async () => {
    node = await startClusterNode(stack, LOGGER_SEC);
  });
  after(() => stack.disposeAsync());

  for (const { name, goDown, madeMaintenance, afterwards } of CASES)
    it(`the machine goes down in order: ${name}`, async () => {
      const { machine } = node;
      await machine.must(`: > ${WITNESS}/log`);
      const before = await boots(node);
      const began = Date.now();
      say(name);
      await goDown(node);
      await followReboot(node, before);
      say(`down after ${Math.round((Date.now() - began) / 1000)} s`);
      await afterwards(node);
      await machine.waitForSsh();
      const journal = await journalOfShutdown(machine);
      console.log(journal.join('\n'));
      assertOrder(journal);
      await assertBack(node, madeMaintenance);
    });
});
