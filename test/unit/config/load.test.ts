import assert from 'node:assert/strict';
import { chmod, chown, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { loadAgentConfig } from '../../../src/config/load.ts';
import { temporaryFolder } from '../../support/folder.ts';

const TEXT = '{"apiVersion":"agent.nodemaintenance.x-k8s.io/v1alpha1","kind":"AgentConfiguration"}';

describe('the configuration file', () => {
  it('the configuration file is refused where others than root could have written it, or it is huge', async (t) => {
    const folder = await temporaryFolder(t, 'config');
    const file = path.join(folder, 'config.yaml');
    await writeFile(file, TEXT);
    await chmod(file, 0o644);
    assert.equal((await loadAgentConfig(file)).kind, 'AgentConfiguration');
    for (const mode of [0o664, 0o646]) {
      await chmod(file, mode);
      await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /everybody may write to it/ });
    }
    await writeFile(file, `${TEXT}${' '.repeat(2_000_000)}`);
    await chmod(file, 0o644);
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /more than 1048576 bytes/ });
    if (process.getuid?.() !== 0) return;
    await writeFile(file, TEXT);
    await chown(file, 65_534, 65_534);
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /belongs to the user 65534/ });
  });
});
