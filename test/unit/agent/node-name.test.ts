import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { describe, it } from 'node:test';
import { nodeNameOf } from '../../../src/agent/node-name.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';
import type { ClusterAccess } from '../../../src/kube/access/cluster.ts';

function configOf(more: string): AgentConfig {
  const text = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
  return parseAgentConfig(text + more, 'test');
}

function accessOf(nodeName: string | undefined): ClusterAccess {
  return { server: new URL('https://api.example:6443'), nodeName, authenticate: () => Promise.resolve() };
}

describe('the name of the node', () => {
  it('the configured name counts first, then the one of the certificate, then the name of the host', () => {
    assert.equal(nodeNameOf(configOf('nodeName: node-c\n'), accessOf('node-b')), 'node-c');
    assert.equal(nodeNameOf(configOf(''), accessOf('node-b')), 'node-b');
    const ofHost = hostname().toLowerCase();
    assert.equal(nodeNameOf(configOf(''), accessOf(undefined)), ofHost, 'an identity of another kind');
    assert.equal(nodeNameOf(configOf(''), undefined), ofHost);
  });
});
