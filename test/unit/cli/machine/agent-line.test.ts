import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { agentConfigPath } from '../../../../src/cli/machine/agent-line.ts';

const UNIT = path.join(import.meta.dirname, '..', '..', '..', '..', 'systemd', 'system', 'nodemaint.service');

describe('the command line of the agent', () => {
  for (const [line, file] of [
    ['agent', '/etc/nodemaint/config.yaml'],
    ['agent --config /x.yaml', '/x.yaml'],
    ['agent --config', undefined],
    ['agent --config --help', undefined],
    ['agent --config=/x.yaml', undefined],
    ['agent --help', undefined],
    ['agent --config /x.yaml more', undefined],
    ['status', undefined],
    ['', undefined],
  ] as const) {
    it(`"${line}" names ${file ?? 'nothing that is read without the library'}`, () => {
      assert.equal(agentConfigPath(line.split(' ').filter((word) => word !== '')), file);
    });
  }

  it('the unit has a command line that is read without the library', async () => {
    const line = /^ExecStart=.*nodemaint\.cjs (.*)$/m.exec(await readFile(UNIT, 'utf8'))?.[1] ?? '';
    assert.equal(agentConfigPath(line.split(' ')), '/etc/nodemaint/config.yaml');
  });
});
