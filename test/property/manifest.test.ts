import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseManifest } from '../../src/static-pods/manifest/manifest.ts';

function parse(bytes: Buffer): ReturnType<typeof parseManifest> {
  const result = parseManifest({ name: 'x.yaml', bytes }, 'node-1');
  if (result.kind === 'invalid') assert.ok(result.reason.startsWith('x.yaml: '));
  return result;
}

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);

describe('parseManifest', () => {
  it('parseManifest never throws, whatever the bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => void parse(Buffer.from(bytes))));
  });

  it('parseManifest reads the same pod from JSON and from YAML', () => {
    const pod = fc.record({
      apiVersion: fc.constant('v1'),
      kind: fc.constant('Pod'),
      metadata: fc.record({ name: label, namespace: label, labels: fc.dictionary(label, label) }),
      spec: fc.record({ priority: fc.integer(), terminationGracePeriodSeconds: fc.integer({ min: 1, max: 100_000 }) }),
    });
    fc.assert(
      fc.property(pod, (pod) => {
        const json = JSON.stringify(pod);
        // A comment in front makes it YAML to the kubelet and to us.
        const [fromJson, fromYaml] = [parse(Buffer.from(json)), parse(Buffer.from(`# YAML\n${json}`))];
        assert.equal(fromJson.kind, 'pod');
        assert.deepEqual({ ...fromYaml, sha256: '' }, { ...fromJson, sha256: '' });
        assert.partialDeepStrictEqual(fromJson, {
          podName: `${pod.metadata.name}-node-1`,
          namespace: pod.metadata.namespace,
          labels: pod.metadata.labels,
          priority: pod.spec.priority,
          graceSec: pod.spec.terminationGracePeriodSeconds,
        });
      }),
    );
  });
});
