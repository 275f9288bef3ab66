import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandFor, parseEvictOptions, parsePodName } from '../../../../src/cli/evict/options.ts';

describe('the command line of nodemaint evict', () => {
  const flags = { requester: 'cli.nodemaintenance.x-k8s.io', output: 'table' } as const;

  for (const name of [
    '',
    ' ',
    '/',
    'pod/',
    'deploy/x',
    'a/b/c',
    '..',
    '../x',
    'pod/..',
    'Web',
    'a_b',
    '-a',
    'x'.repeat(254),
  ]) {
    it(`"${name.slice(0, 20)}" is no pod`, () => {
      assert.throws(() => parsePodName(name), { code: 'USAGE' });
    });
  }

  for (const name of ['web', 'pod/web', 'pods/web', 'po/web']) {
    it(`"${name}" is a pod`, () => {
      assert.equal(parsePodName(name), 'web');
    });
  }

  const wrong: readonly [string, object, RegExp][] = [
    ['a requester without a dot', { requester: 'me' }, /fully qualified/],
    ['an empty requester', { requester: '' }, /fully qualified/],
    [
      "the controller's requester",
      { requester: 'nodemaintenance.k8s.io' },
      /reserved for the NodeMaintenance controller/,
    ],
    ['an empty namespace', { namespace: '' }, /namespace/],
    ['a namespace that climbs', { namespace: '..' }, /namespace/],
    ['a time-out without a watch', { timeout: '3s' }, /needs --watch/],
    ['a watch of a withdrawal', { watch: true, withdraw: true }, /--withdraw/],
    ['a watch of a dry run', { watch: true, dryRun: true }, /--dry-run/],
  ];
  for (const [what, extra, message] of wrong) {
    it(`the command line refuses ${what}`, () => {
      assert.throws(() => parseEvictOptions(['web'], { ...flags, ...extra }), { code: 'USAGE', message });
    });
  }

  it('commands for people to copy are quoted for the shell and name the same pods', () => {
    const options = parseEvictOptions(['web', 'pod/web'], {
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
