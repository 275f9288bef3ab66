import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventBody, eventName, namespaceOf } from '../../../../src/kube/event/text.ts';

function subject(name: string, more: object = {}): Parameters<typeof eventName>[0] {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, uid: 'u-1', ...more } };
}
const TEXT = { type: 'Normal', reason: 'Evicted', message: 'The pod is evicted.' } as const;
/** The name of an object has at most 253 characters: a subdomain of DNS. */
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

describe('the name of an Event', () => {
  for (const name of ['web', 'a.b', 'n'.repeat(253), `${'n'.repeat(229)}-${'m'.repeat(20)}`, `${'n'.repeat(228)}.-x`]) {
    it(`the name is valid for an object with a name of ${name.length} characters: ${name.slice(-24)}`, () => {
      assert.match(eventName(subject(name), '0123456789abcdef'), SUBDOMAIN);
    });
  }
});

describe('the content of an Event', () => {
  it('an object without a namespace has its Events in default', () => {
    assert.equal(namespaceOf(subject('node-a')), 'default');
    assert.equal(namespaceOf(subject('web', { namespace: 'shop' })), 'shop');
  });

  it('a message is cut to what the API server takes, and no character is cut in half', () => {
    const times = { count: 1, firstAt: 0, lastAt: 0 };
    const messageOf = (message: string): unknown => {
      const body = eventBody('web.1', { subject: subject('web'), text: { ...TEXT, message } }, times, 'test');
      return (body as { readonly message: string }).message;
    };
    assert.equal(messageOf(TEXT.message), TEXT.message);
    const cut = messageOf(`${'x'.repeat(999)}\u{1F600}`);
    assert.equal(cut, `${'x'.repeat(999)}�`);
  });
});
