import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missingName, missingPermission, notInstalled, refusal } from '../../../src/kube/refusal.ts';
import { NODE_MAINTENANCES } from '../../../src/kube/resource.ts';

const FORBIDDEN = 'nodes "a" is forbidden: User "u" cannot';

/** What the authorizer says after that, and what the sentence for people ends with. */
const permissions: [string, string][] = [
  [
    `${FORBIDDEN} patch resource "nodes" in API group "" at the cluster scope`,
    '; missing permission: the verb patch on nodes at the cluster scope',
  ],
  [
    `${FORBIDDEN} list resource "evictionrequests" in API group "coordination.x-k8s.io" in the namespace "shop"`,
    '; missing permission: the verb list on evictionrequests.coordination.x-k8s.io in the namespace shop',
  ],
  [
    `${FORBIDDEN} create resource "pods/eviction" in API group "" in the namespace "a-b"`,
    '; missing permission: the verb create on pods/eviction in the namespace a-b',
  ],
  ['ValidatingAdmissionPolicy "p" denied the request', ''],
  ['', ''],
];

describe('a refusal of the API server', () => {
  for (const [message, expected] of permissions) {
    it(`the missing permission is ${expected === '' ? 'not named' : 'named'} for: ${message}`, () => {
      assert.equal(missingPermission(message), expected);
    });
  }

  it('a refusal names the credentials, the permission, or the status, each with the words of the server', () => {
    const said = (status: number, message: string): string =>
      refusal({ status, headers: {}, body: { message } }).message;
    assert.equal(said(401, 'Unauthorized'), 'the API server does not accept these credentials: Unauthorized');
    const [message = '', permission = ''] = permissions[0] ?? [];
    assert.equal(said(403, message), `${message}${permission}`);
    assert.equal(said(500, 'etcd is gone'), 'the API server answered 500: etcd is gone');
    assert.equal(refusal({ status: 500, headers: {}, body: {} }).code, 'API_REFUSED');
  });

  it('a 404 is about an object where it has its name, else about the resource', () => {
    assert.equal(missingName({ status: 404, headers: {}, body: { details: { name: 'web' } } }), 'web');
    for (const body of [undefined, null, '404 page not found', {}, { details: {} }]) {
      assert.equal(missingName({ status: 404, headers: {}, body }), undefined);
    }
  });

  it('a cluster without our resources is told how to get them', () => {
    assert.match(
      notInstalled(NODE_MAINTENANCES, 'nodemaintenance.x-k8s.io').message,
      /^this cluster has no nodemaintenances\.nodemaintenance\.x-k8s\.io: .*kubectl apply -k manifests/,
    );
  });
});
