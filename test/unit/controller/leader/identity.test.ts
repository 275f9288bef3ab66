import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { electionIdentity } from '../../../../src/controller/leader/identity.ts';

const DEPLOYMENT = path.join(import.meta.dirname, '../../../../manifests/controller/deployment.yaml');

/** The part of an identity that the policy nodemaint-controller-own-objects compares. */
function nameIn(identity: string): string {
  return identity.slice(0, identity.lastIndexOf('_'));
}

describe('the identity of a replica in the election', () => {
  it("has the name of the replica's pod, also with the network of a node whose host has another name", () => {
    const long = `nodemaint-controller-${'x'.repeat(60)}-5f7c9-x2x4d`;
    for (const name of ['nodemaint-controller-5f7c9-x2x4d', long]) {
      assert.equal(nameIn(electionIdentity({ POD_NAME: name }, 'worker-1.example.com')), name);
    }
  });

  it('has the name of the host without the name of a pod, or with a text that is none', () => {
    for (const POD_NAME of [undefined, '', 'a_b', 'Upper', 'x'.repeat(254), 'a\n']) {
      assert.equal(nameIn(electionIdentity({ POD_NAME }, 'worker-1')), 'worker-1');
    }
  });

  it('is another one after each start', () => {
    assert.notEqual(electionIdentity({}, 'a'), electionIdentity({}, 'a'));
  });

  it('gets the name of the pod by the Deployment', async () => {
    const { spec } = parse(await readFile(DEPLOYMENT, 'utf8')) as {
      spec: { template: { spec: { containers: { env?: unknown }[] } } };
    };
    const POD_NAME = { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } };
    assert.deepEqual(spec.template.spec.containers[0]?.env, [POD_NAME]);
  });
});
