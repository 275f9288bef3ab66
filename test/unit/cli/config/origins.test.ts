import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { CONFIG_API_VERSION } from '../../../../src/api/names.ts';
import { originsOf, withOrigins } from '../../../../src/cli/config/origins.ts';
import { type ConfigLayer, parseLayer } from '../../../../src/config/layers.ts';
import { configOfLayers } from '../../../../src/config/load.ts';

const HEAD = `apiVersion: ${CONFIG_API_VERSION}\nkind: AgentConfiguration\n`;

function layers(...texts: readonly string[]): readonly ConfigLayer[] {
  return texts.map((text, index) => parseLayer(HEAD + text, index === 0 ? 'config.yaml' : `config.d/${index}.yaml`));
}

describe('the origins of a configuration', () => {
  it('a value is of the last file that has it, with its line; one that no file has is a default', () => {
    const all = layers('logLevel: info\nonBoot: wait\n', 'logLevel: debug\n');
    const origins = originsOf(configOfLayers(all), all);
    assert.equal(origins.get('logLevel'), 'config.d/1.yaml:3');
    assert.equal(origins.get('onBoot'), 'config.yaml:4');
    assert.equal(origins.get('apiWaitSec'), 'default');
  });

  it('a directory that the agent looks up is found on the machine, unless the one of the file is in use', () => {
    const all = layers('staticPodPath: /etc/kubernetes/manifests\n');
    const config = configOfLayers(all);
    assert.equal(originsOf(config, all).get('staticPodPath'), 'config.yaml:3');
    assert.equal(
      originsOf({ ...config, staticPodPath: '/var/static' }, all).get('staticPodPath'),
      'found on this machine',
    );
    assert.equal(originsOf(config, all).get('parkedPath') ?? 'found on this machine', 'found on this machine');
  });

  it('the printed configuration has each origin as a comment, and is the configuration without them', () => {
    const all = layers('onBoot: wait\ncloud:\n  provider: aws\n');
    const config = configOfLayers(all);
    const text = withOrigins(config, originsOf(config, all));
    assert.match(text, /^onBoot: wait # config\.yaml:3$/m);
    assert.match(text, /^ {2}provider: aws # config\.yaml:5$/m);
    assert.match(text, /^apiWaitSec: \d+ # default$/m);
    assert.deepEqual(parse(text), JSON.parse(JSON.stringify(config)));
  });
});
