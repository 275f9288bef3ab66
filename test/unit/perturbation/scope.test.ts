import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collectionOf, scopedPath } from '../../perturbation/scope.ts';

const SCOPE = { namespace: 'q1', selector: 'plan=q1' };

describe('what a program of a plan sees of the cluster', () => {
  it('a list of a resource with namespaces is that of the namespace of the plan', () => {
    assert.equal(scopedPath('/api/v1/pods?limit=50', SCOPE), '/api/v1/namespaces/q1/pods?limit=50');
    assert.equal(
      scopedPath('/apis/policy/v1/poddisruptionbudgets', SCOPE),
      '/apis/policy/v1/namespaces/q1/poddisruptionbudgets',
    );
  });

  it('a list of a resource without namespaces has the label of the plan, and keeps its own', () => {
    assert.equal(scopedPath('/api/v1/nodes', SCOPE), '/api/v1/nodes?labelSelector=plan%3Dq1');
    assert.equal(
      scopedPath('/api/v1/nodes?labelSelector=a%3Db', SCOPE),
      '/api/v1/nodes?labelSelector=a%3Db%2Cplan%3Dq1',
    );
  });

  it('the paths of single objects and of discovery stay as they are', () => {
    for (const path of ['/api/v1/nodes/n1', '/api/v1/namespaces/q1/pods/p/status', '/apis/lifecycle.k8s.io/v1alpha1']) {
      assert.equal(scopedPath(path, SCOPE), path);
      assert.equal(collectionOf(path), undefined);
    }
  });
});
