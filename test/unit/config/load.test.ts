import assert from 'node:assert/strict';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { configHash, loadAgentConfig } from '../../../src/config/load.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { NEEDS_ROOT } from '../../support/root.ts';

function hashOf(keys: object): string {
  const head = { apiVersion: 'agent.nodemaintenance.x-k8s.io/v1alpha1', kind: 'AgentConfiguration' };
  return configHash(parseAgentConfig(JSON.stringify({ ...head, ...keys }), 'config.yaml'));
}

describe('the hash of a configuration', () => {
  it('nodes that differ in nothing but their names have the same one', () => {
    assert.match(hashOf({}), /^[0-9a-f]{8}$/);
    assert.equal(hashOf({ nodeName: 'a' }), hashOf({ nodeName: 'b' }));
  });

  it('another value of any key is another hash, and a default that is written out is none', () => {
    assert.notEqual(hashOf({ maxHoldSec: 60 }), hashOf({}));
    assert.equal(hashOf({ onBoot: 'complete' }), hashOf({}));
  });
});

const TEXT = '{"apiVersion":"agent.nodemaintenance.x-k8s.io/v1alpha1","kind":"AgentConfiguration"}';

const HEAD = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';

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
  });

  it('the configuration is refused where it belongs to another user', { skip: NEEDS_ROOT }, async (t) => {
    const file = path.join(await temporaryFolder(t, 'config'), 'config.yaml');
    await writeFile(file, TEXT, { mode: 0o644 });
    await chown(file, 65_534, 65_534);
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /belongs to the user 65534/ });
  });
});

/** What is no configuration as a whole. */
const WRONG_FILES: Readonly<Record<string, string>> = {
  'an empty file': '',
  'a list': '- onBoot: wait',
  'a text without keys': 'hello',
  'a file without kind': 'apiVersion: v1',
  'a configuration of the kubelet': 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration',
  'another version': 'apiVersion: agent.nodemaintenance.x-k8s.io/v1beta1\nkind: AgentConfiguration',
  'broken YAML': `${HEAD}cloud: {provider: aws`,
  'the same key twice': `${HEAD}lock: unit\nlock: none`,
  'more aliases than anybody needs': `${HEAD}drainPlan: &a [1, 1]\nhooksDirectory: [${'*a, '.repeat(120)}1]`,
  'two documents': `${HEAD}---\n${HEAD}`,
};

/** Wrong lines, each with the key that is named. */
const WRONG_LINES: readonly [string, string][] = [
  ['kubeConfig: /etc/k', '"kubeConfig"'],
  ['cloud: {vendor: aws}', '"vendor"\n  → at cloud'],
  ['apiWaitSec: 15s', 'apiWaitSec'],
  ['maxHoldSec: -1', 'maxHoldSec'],
  ['apiWaitSec: 4000', 'apiWaitSec'],
  ['onBoot: reboot', 'onBoot'],
  ['cloud:\n  provider: amazon', 'cloud.provider'],
  ['cloud: {metadataUrl: https://169.254.169.254}', 'cloud.metadataUrl'],
  ['kubeconfig:', 'kubeconfig'],
  ['kubeconfig: relative/x', 'kubeconfig'],
  ['staticPodPath: manifests', 'staticPodPath'],
  ['containerRuntimeEndpoint: /run/x.sock', 'containerRuntimeEndpoint'],
  ['nodeName: Node_A', 'nodeName'],
  ['nodeName: 12', 'nodeName'],
  ['metricsAddress: 127.0.0.1:99999', 'metricsAddress'],
  ['kubeletHealthz: http://127.0.0.1:99999/healthz', 'kubeletHealthz'],
  ['kubeletUnit: kubelet', 'kubeletUnit'],
  ['staticPodPath: /m\nparkedPath: /m/', 'parkedPath'],
  ['staticPodPath: /m\nparkedPath: /m/parked', 'parkedPath'],
  ['staticPodPath: /etc/k/m\nparkedPath: /etc/k', 'parkedPath'],
  ['staticPodPath: /m\nhooksDirectory: /m/hooks', 'hooksDirectory'],
  ['parkedPath: /p\nstateDirectory: /p/../p', 'stateDirectory'],
  ['onBoot: wait\nkubeconfig: ""', 'onBoot'],
  ['drainPlan: {podType: Default}', 'drainPlan'],
  ['drainPlan:\n- podType: Default\n  podPriority: high', 'drainPlan[0].podPriority'],
  ['drainPlan:\n- podType: Static', 'drainPlan[0].podPriority'],
];

describe('a wrong configuration', () => {
  for (const [what, text] of Object.entries(WRONG_FILES)) {
    it(`a wrong configuration is refused with the name of the file: ${what}`, () => {
      assert.throws(() => parseAgentConfig(text, 'c.yaml'), { code: 'CONFIG_INVALID', message: /^c\.yaml is not / });
    });
  }
  for (const [text, key] of WRONG_LINES) {
    it(`a wrong configuration is refused with the key: ${text.replaceAll('\n', ' | ')}`, () => {
      assert.throws(
        () => parseAgentConfig(HEAD + text, 'c.yaml'),
        ({ message }: Error) =>
          message.split('\n✖ ').length === 2 && message.endsWith(key.startsWith('"') ? key : `→ at ${key}`),
      );
    });
  }

  it('a wrong configuration is refused with all of its mistakes at once', () => {
    assert.throws(
      () => parseAgentConfig(`${HEAD}onBoot: never\nlogLevel: loud\n__proto__: 1\n`, 'c.yaml'),
      ({ message }: Error) => ['onBoot', 'logLevel', '__proto__'].every((key) => message.includes(key)),
    );
  });
});

describe('the drop-ins of the configuration', () => {
  const withDropIns = async (t: TestContext, dropIns: Readonly<Record<string, string>>): Promise<string> => {
    const folder = await temporaryFolder(t, 'config');
    const file = path.join(folder, 'config.yaml');
    await mkdir(path.join(folder, 'config.d'), { mode: 0o755 });
    await writeFile(file, `${HEAD}apiWaitSec: 20\nnodeName: n1\ncloud: {provider: aws, leadSec: 60}\n`, {
      mode: 0o644,
    });
    for (const [name, text] of Object.entries(dropIns)) {
      await writeFile(path.join(folder, 'config.d', name), text, { mode: 0o644 });
    }
    return file;
  };

  it('the drop-ins change keys in the order of their names, and other names are ignored', async (t) => {
    const file = await withDropIns(t, {
      '20-pool.yaml': `${HEAD}apiWaitSec: 40\nnodeName: null\ncloud: {leadSec: 120}\n`,
      '10-all.yaml': `${HEAD}apiWaitSec: 30\nonBoot: wait\n`,
      '30-old.yaml.dpkg-old': 'apiWaitSec: 50',
      '.40-hidden.yaml': 'apiWaitSec: 60',
    });
    const { apiWaitSec, onBoot, nodeName, cloud } = await loadAgentConfig(file);
    assert.deepEqual({ apiWaitSec, onBoot, nodeName }, { apiWaitSec: 40, onBoot: 'wait', nodeName: undefined });
    assert.deepEqual({ provider: cloud.provider, leadSec: cloud.leadSec }, { provider: 'aws', leadSec: 120 });
  });

  it('the drop-in that has a bad value is named, with the key', async (t) => {
    const dropIns = { '10-all.yaml': `${HEAD}onBoot: wait\napiWaitSec: soon\n`, '20-pool.yaml': HEAD };
    const file = await withDropIns(t, dropIns);
    const message = /config\.d\/10-all\.yaml is not a valid configuration.*apiWaitSec/s;
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message });
  });

  it('the drop-ins are refused where others than root could write one of them or add one, or they name no version', async (t) => {
    const file = await withDropIns(t, { '10-all.yaml': HEAD });
    const folder = path.join(path.dirname(file), 'config.d');
    await chmod(folder, 0o777);
    await assert.rejects(loadAgentConfig(file), {
      code: 'CONFIG_INVALID',
      message: /config\.d: .*everybody may write/,
    });
    await chmod(folder, 0o755);
    await chmod(path.join(folder, '10-all.yaml'), 0o666);
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /10-all.*everybody may write/ });
    await chmod(path.join(folder, '10-all.yaml'), 0o644);
    await writeFile(path.join(folder, '10-all.yaml'), 'apiWaitSec: 30\n');
    await assert.rejects(loadAgentConfig(file), { code: 'CONFIG_INVALID', message: /10-all\.yaml .*apiVersion/s });
  });
});

describe('the drain plan of the configuration', () => {
  const parse = (podSelector: object): object => {
    const entry = { podType: 'Default', podPriority: 1, podSelector };
    const [head] = TEXT.split('}');
    return parseAgentConfig(`${head},"drainPlan":[${JSON.stringify(entry)}]}`, 'config.yaml');
  };
  const expression = (key: string, operator: string, values?: readonly string[]): object => ({
    matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }],
  });
  const refused: [string, object, RegExp][] = [
    ['an In without values', expression('app', 'In'), /need values/],
    ['an empty NotIn', expression('app', 'NotIn', []), /need values/],
    ['an Exists with values', expression('app', 'Exists', ['x']), /take none/],
    ['a key that no label has', expression('a b', 'Exists'), /key of a label/],
    ['a value that is too long for a label', { matchLabels: { app: 'x'.repeat(64) } }, /63/],
    [
      'more than 50 labels',
      { matchLabels: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`l${at}`, 'x'])) },
      /50 labels/,
    ],
    ['an operator of nodes', expression('app', 'Gt', ['1']), /operator|Invalid/],
  ];
  for (const [what, selector, message] of refused) {
    it(`the drain plan is refused where it has ${what}, as the API server would refuse it in the shutdown`, () => {
      assert.throws(() => parse(selector), { code: 'CONFIG_INVALID', message });
    });
  }

  it('the drain plan may have labels and expressions that the API server accepts', () => {
    parse({});
    parse({ matchLabels: { 'example.com/app': '' }, ...expression('app', 'NotIn', ['x', 'y']) });
    parse(expression('app', 'DoesNotExist', []));
  });
});
