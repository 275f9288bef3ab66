import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseKubelet,
  chooseStaticPodPath,
  effectiveKubelet,
  goDurationMs,
  type KubeletFacts,
  type KubeletScope,
  parseKubeletFlags,
} from '../../../../src/decide/machine/kubelet-config.ts';
import { mergePatch } from '../../../../src/decide/json.ts';

const NO_FLAGS = new Map<string, string>();
const kubeletOf = (pid: number, ...argv: string[]): KubeletFacts => effectiveKubelet(pid, parseKubeletFlags(argv), {});

describe("the kubelet's configuration", () => {
  it('the configuration is merged as a JSON merge patch: maps key by key, lists whole, null takes away', () => {
    const base = { featureGates: { A: true, B: true }, list: [1, 2], staticPodPath: '/a', gone: 1 };
    const dropIn = { featureGates: { B: false }, list: [3], staticPodPath: '/b', gone: null };
    const merged = { featureGates: { A: true, B: false }, list: [3], staticPodPath: '/b' };
    assert.deepEqual(mergePatch(base, dropIn), merged);
  });

  it('the configuration is not confused by a key that JavaScript gives a meaning to', () => {
    const dropIn: unknown = JSON.parse('{"__proto__": {"staticPodPath": "/evil"}}');
    const merged = mergePatch({}, dropIn) as { staticPodPath?: string };
    assert.equal(merged.staticPodPath, undefined);
    assert.equal(({} as { staticPodPath?: string }).staticPodPath, undefined);
  });

  it('the configuration takes flags in both forms, and the last of two', () => {
    const flags = parseKubeletFlags('kubelet --config /c --v=2 --config=/d --rotate --node-ip 1'.split(' '));
    assert.deepEqual(Object.fromEntries(flags), { config: '/d', v: '2', 'node-ip': '1' });
  });

  it('the configuration gives flags precedence over files, and what is in neither its default', () => {
    const flags = parseKubeletFlags(['kubelet', '--pod-manifest-path=/flag', '--healthz-port=0']);
    const facts = effectiveKubelet(7, flags, { staticPodPath: '/file', healthzPort: 99, shutdownGracePeriod: '1m30s' });
    assert.deepEqual([facts.staticPodPath, facts.healthzPort], ['/flag', 0]);
    assert.deepEqual([facts.shutdownGracePeriodMs, facts.shutdownGracePeriodCriticalPodsMs], [90_000, 0]);
    assert.deepEqual([facts.fileCheckFrequencyMs, facts.healthzBindAddress], [20_000, '127.0.0.1']);
    assert.deepEqual(effectiveKubelet(7, NO_FLAGS, {}).staticPodPath, undefined);
    assert.deepEqual(effectiveKubelet(7, NO_FLAGS, {}).healthzPort, 10_248);
  });

  for (const [text, ms] of [
    ['0', 0],
    ['0s', 0],
    ['20s', 20_000],
    ['1h2m3.5s', 3_723_500],
    ['150ms', 150],
    ['5', undefined],
    ['-5s', undefined],
    ['', undefined],
  ] as const) {
    it(`the duration ${JSON.stringify(text)} is read as ${ms} ms`, () => {
      assert.equal(goDurationMs(text), ms);
    });
  }
});

describe("this node's kubelet", () => {
  const ours = kubeletOf(1, 'kubelet', '--kubeconfig=/ours', '--hostname-override=n');
  const other = kubeletOf(2, 'kubelet', '--kubeconfig=/other');
  const choose = (kubelets: Parameters<typeof chooseKubelet<KubeletFacts>>[0], scope: KubeletScope): string => {
    const choice = chooseKubelet(kubelets, scope);
    if (choice.kind === 'none') return 'none';
    return choice.kind === 'kubelet' ? String(choice.kubelet.pid) : choice.kubelets.map(({ pid }) => pid).join(' or ');
  };
  it("this node's kubelet is known among several by its kubeconfig or its name, and is not guessed", () => {
    assert.equal(choose([other, ours], { kubeconfig: '/ours' }), '1');
    assert.equal(choose([other, ours], { kubeconfig: '/x', nodeName: 'n' }), '1');
    assert.equal(choose([other, ours], { kubeconfig: '/x' }), '2 or 1');
    assert.equal(choose([other, ours, { ...ours, pid: 3 }], { kubeconfig: '/ours' }), '1 or 3');
    assert.equal(choose([other, { ...other, pid: 3 }], { nodeName: 'n' }), '2 or 3');
  });
  it("this node's kubelet is the only one that runs, unless that has the name of another node", () => {
    assert.equal(choose([other], { kubeconfig: '/ours', nodeName: 'n' }), '2');
    assert.equal(choose([ours], { kubeconfig: '/x', nodeName: 'm' }), 'none');
    assert.equal(choose([ours, { ...ours, pid: 3 }], { kubeconfig: '/x', nodeName: 'm' }), 'none');
    assert.equal(choose([], {}), 'none');
  });
});

describe('the static pod directory', () => {
  const kubelet = kubeletOf(5, 'kubelet', '--pod-manifest-path=/var/pods/');
  it('the static pod directory is the configured one, else what the kubelet has, else the usual one', () => {
    assert.deepEqual(chooseStaticPodPath(undefined, kubelet, '/usual'), { path: '/var/pods' });
    assert.deepEqual(chooseStaticPodPath(undefined, undefined, '/usual'), { path: '/usual' });
    assert.deepEqual(chooseStaticPodPath('/var/pods', kubelet, '/usual'), { path: '/var/pods' });
    assert.deepEqual(chooseStaticPodPath('/mine', undefined, '/usual'), { path: '/mine' });
  });
  it('the static pod directory is named twice in a warning where the configuration and the kubelet do not agree', () => {
    const { path, warning } = chooseStaticPodPath('/mine', kubelet, '/usual');
    assert.equal(path, '/mine');
    assert.match(warning ?? '', /staticPodPath \/mine.*process 5.*from \/var\/pods;/);
    assert.match(chooseStaticPodPath('/mine', kubeletOf(6, 'kubelet'), '/x').warning ?? '', /takes no static pods/);
  });
});
