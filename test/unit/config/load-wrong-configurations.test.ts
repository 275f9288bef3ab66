/** What people write wrongly into a configuration, and what they are told: the place, the key, and what to write. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { NodemaintError } from '../../../src/errors.ts';

const HEAD = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
const BEGIN = 'begin it with "apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1" and "kind: AgentConfiguration"';

/** The answer to a text, without the line that names the file. */
function answerTo(text: string): string {
  try {
    parseAgentConfig(text, 'c.yaml');
  } catch (error) {
    assert.ok(error instanceof NodemaintError && error.code === 'CONFIG_INVALID', String(error));
    return error.message.replace(/^c\.yaml is not a valid configuration:\n/, '');
  }
  return 'accepted';
}

/** Wrong texts as a whole. */
const FILES: readonly [string, string, string | RegExp][] = [
  ['an empty file', '', `c.yaml is not a configuration of the agent: it is empty; ${BEGIN}`],
  ['a list', '- onBoot: wait', `c.yaml is not a configuration of the agent: it has no keys; ${BEGIN}`],
  ['a text without keys', 'hello', `c.yaml is not a configuration of the agent: it has no keys; ${BEGIN}`],
  ['a file without kind', 'apiVersion: v1', `c.yaml is not a configuration of the agent: it has no kind; ${BEGIN}`],
  [
    'a configuration of the kubelet',
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration',
    'c.yaml is not a configuration of the agent: it is a "KubeletConfiguration" of "kubelet.config.k8s.io/v1beta1", not an AgentConfiguration',
  ],
  [
    'another version',
    'apiVersion: agent.nodemaintenance.x-k8s.io/v1beta1\nkind: AgentConfiguration',
    `c.yaml is not a configuration of the agent: this version of the program does not know the apiVersion "agent.nodemaintenance.x-k8s.io/v1beta1"; ${BEGIN}`,
  ],
  ['broken YAML', `${HEAD}cloud: {provider: aws`, /^c\.yaml is not valid YAML: .* at line 3, column 22/],
  ['a tab as indentation', `${HEAD}cloud:\n\tprovider: aws`, /^c\.yaml is not valid YAML: .* at line 4, column 1/],
  [
    'the same key twice',
    `${HEAD}lock: unit\nlock: none`,
    /^c\.yaml is not valid YAML: Map keys must be unique at line/,
  ],
  [
    'more aliases than anybody needs',
    `${HEAD}drainPlan: &a [1, 1]\nhooksDirectory: [${'*a, '.repeat(120)}1]`,
    /^c\.yaml is not valid YAML: .*alias/,
  ],
  [
    'two documents',
    `${HEAD}---\n${HEAD}`,
    'c.yaml is not valid YAML: it has several YAML documents; leave one, and put the others into drop-ins',
  ],
];

/** Wrong keys and values, one line each. */
const LINES: readonly [string, string | RegExp][] = [
  ['kubeConfig: /etc/k', 'c.yaml:3: kubeConfig: there is no such key; did you mean "kubeconfig"?'],
  ['maxHoldSecs: 60', 'c.yaml:3: maxHoldSecs: there is no such key; did you mean "maxHoldSec"?'],
  [
    'cloud: {vendor: aws}',
    'c.yaml:3: cloud.vendor: there is no such key; the keys here are provider, metadataUrl, leadSec, rebalance, freeze, azureStartRequests',
  ],
  ['spec: {}', /^c\.yaml:3: spec: there is no such key; the keys here are apiVersion, kind, nodeName, /],
  ['apiWaitSec: 15s', 'c.yaml:3: apiWaitSec: is "15s"; write whole seconds as a number without a unit, here 15'],
  ['maxHoldSec: 1h30m', 'c.yaml:3: maxHoldSec: is "1h30m"; write whole seconds as a number without a unit, here 5400'],
  ['maxHoldSec: -1', 'c.yaml:3: maxHoldSec: is -1; the smallest value is 60'],
  ['maxHoldSec: 10', 'c.yaml:3: maxHoldSec: is 10; the smallest value is 60'],
  ['apiWaitSec: 4000', 'c.yaml:3: apiWaitSec: is 4000; the largest value is 3600'],
  ['onBoot: reboot', 'c.yaml:3: onBoot: is "reboot"; write one of complete, wait'],
  [
    'cloud:\n  provider: amazon',
    'c.yaml:4: cloud.provider: is "amazon"; write one of auto, none, aws, gcp, azure, alibaba, tencent',
  ],
  ['logLevel: DEBUG', 'c.yaml:3: logLevel: is "DEBUG"; write one of debug, info, warn, error'],
  ['cloud: aws', 'c.yaml:3: cloud: is "aws"; write keys with values'],
  [
    'cloud: {metadataUrl: https://169.254.169.254}',
    'c.yaml:3: cloud.metadataUrl: is "https://169.254.169.254"; it must be http://HOST or http://HOST:PORT',
  ],
  ['removeFailedPods: "yes"', 'c.yaml:3: removeFailedPods: is "yes"; write true or false'],
  ['kubeconfig:', 'c.yaml:3: kubeconfig: has no value; write one, or remove the key'],
  ['kubeconfig: ~/.kube/config', 'c.yaml:3: kubeconfig: is "~/.kube/config"; it must be an absolute path, or ""'],
  ['kubeconfig: relative/x', 'c.yaml:3: kubeconfig: is "relative/x"; it must be an absolute path, or ""'],
  [
    'staticPodPath: manifests',
    'c.yaml:3: staticPodPath: is "manifests"; it must be an absolute path without control characters',
  ],
  [
    'containerRuntimeEndpoint: /run/x.sock',
    'c.yaml:3: containerRuntimeEndpoint: is "/run/x.sock"; it must be unix:///PATH, such as unix:///run/containerd/containerd.sock',
  ],
  [
    'nodeName: Node_A',
    'c.yaml:3: nodeName: is "Node_A"; it must be the name of a node: lower case letters, digits, "-" and "."',
  ],
  ['nodeName: 12', 'c.yaml:3: nodeName: is 12; write a text in quotes: "12"'],
  [
    'metricsAddress: 127.0.0.1',
    'c.yaml:3: metricsAddress: is "127.0.0.1"; it must be ADDRESS:PORT, such as 127.0.0.1:9465',
  ],
  ['metricsAddress: 127.0.0.1:99999', 'c.yaml:3: metricsAddress: must have a port up to 65535'],
  [
    'kubeletHealthz: http://127.0.0.1:99999/healthz',
    'c.yaml:3: kubeletHealthz: must be http://ADDRESS:PORT/healthz, with a port up to 65535',
  ],
  ['kubeletUnit: kubelet', 'c.yaml:3: kubeletUnit: is "kubelet"; it must be the name of a systemd service, or ""'],
  ['controlGroup: 0', 'c.yaml:3: controlGroup: is 0; write a text in quotes: "0"'],
  ['controlGroup: No Group', 'c.yaml:3: controlGroup: is "No Group"; it must be the name of a group'],
  [
    'staticPodPath: /m\nparkedPath: /m/',
    'c.yaml:4: parkedPath: is the directory of the static pods itself, /m (key staticPodPath); name a directory outside of it, or remove the key',
  ],
  [
    'staticPodPath: /m\nparkedPath: /m/parked',
    'c.yaml:4: parkedPath: lies in the directory of the static pods, /m (key staticPodPath); name a directory outside of it, or remove the key',
  ],
  [
    'staticPodPath: /etc/k/m\nparkedPath: /etc/k',
    'c.yaml:4: parkedPath: contains the static pods, /etc/k/m (key staticPodPath); name a directory outside of it, or remove the key',
  ],
  [
    'staticPodPath: /m\ntriggerFile: /m/drain',
    'c.yaml:4: triggerFile: lies in the directory of the static pods, /m (key staticPodPath), where the kubelet takes every file for a manifest; name a place outside of it',
  ],
  [
    'parkedPath: /p\nstateDirectory: /p/../p',
    'c.yaml:4: stateDirectory: lies in the directory of parked manifests, /p (key parkedPath); name a place outside of it',
  ],
  [
    'onBoot: wait\nkubeconfig: ""',
    'c.yaml:3: onBoot: "wait" needs a cluster in which the NodeMaintenance is completed; without a cluster only "complete" is possible',
  ],
  ['drainPlan: {podType: Default}', 'c.yaml:3: drainPlan: is {"podType":"Default"}; write a list'],
  [
    'drainPlan:\n- podType: Default\n  podPriority: high',
    'c.yaml:5: drainPlan[0].podPriority: is "high"; write a number',
  ],
  [
    'drainPlan:\n- podType: Job\n  podPriority: 1',
    'c.yaml:4: drainPlan[0].podType: is "Job"; write one of Default, DaemonSet, Static',
  ],
  [
    'drainPlan:\n- podType: Default\n  podPriority: 1\n  podSelector: {app: x}',
    'c.yaml:6: drainPlan[0].podSelector.app: there is no such key; the keys here are matchLabels, matchExpressions',
  ],
  ['drainPlan:\n- podType: Static', 'c.yaml:4: drainPlan[0].podPriority: is missing'],
];

describe('a wrong configuration', () => {
  for (const [what, text, answer] of FILES) {
    it(`a wrong configuration is refused: ${what}`, () => {
      if (typeof answer === 'string') assert.equal(answerTo(text), answer);
      else assert.match(answerTo(text), answer);
    });
  }
  for (const [text, answer] of LINES) {
    it(`a wrong configuration is refused with the line and the fix: ${text.replaceAll('\n', ' | ')}`, () => {
      if (typeof answer === 'string') assert.equal(answerTo(HEAD + text), answer);
      else assert.match(answerTo(HEAD + text), answer);
    });
  }

  it('a wrong configuration is refused with all of its mistakes at once', () => {
    assert.equal(answerTo(`${HEAD}onBoot: never\nlogLevel: loud\n__proto__: 1\n`).split('\n').length, 3);
  });
});
