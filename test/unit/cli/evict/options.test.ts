import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandFor, parseEvictOptions } from '../../../../src/cli/evict/options.ts';

describe('the command line of nodemaint evict', () => {
  const flags = { requester: 'cli.nodemaintenance.x-k8s.io', output: 'table' } as const;

  it('commands for people to copy are quoted for the shell and name the same pods', () => {
    const options = parseEvictOptions(['web', 'pod/web', 'pods/web', 'po/web'], {
      ...flags,
      kubeconfig: "/home/o'neil/my config",
      context: 'c',
      as: 'ops',
    });
    assert.deepEqual(options.pods, ['web']);
    assert.equal(
      commandFor(options, options.pods, '--withdraw'),
      String.raw`nodemaint evict web --withdraw --kubeconfig '/home/o'\''neil/my config' --context c --as ops`,
    );
  });
});
