import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configHash } from '../../../src/config/hash.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';

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
