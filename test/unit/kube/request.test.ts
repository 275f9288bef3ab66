import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient, KubeRequest } from '../../../src/kube/client.ts';
import { sendForObject } from '../../../src/kube/request.ts';

const NEVER = new AbortController().signal;
const APPLY: KubeRequest = {
  method: 'PATCH',
  path: '/api/v1/namespaces/a/pods/p',
  body: { metadata: { uid: 'former' } },
  patch: { kind: 'apply', manager: 'm' },
};

/** An API server that answers everything so, as a real one does where a field of the body may not be as it is. */
function refusing(field: string): KubeClient {
  const causes = [{ reason: 'FieldValueInvalid', message: 'Invalid value: field is immutable', field }];
  const body = { kind: 'Status', code: 422, message: `${field}: Invalid value`, details: { causes } };
  return {
    send: () => Promise.resolve({ status: 422, headers: {}, body }),
    watch: async function* () {},
    close: () => undefined,
  };
}

describe('the answer to a write of one object', () => {
  it('a patch that names the UID of an object which was replaced is a conflict, although the API server calls it invalid', async () => {
    assert.equal(await sendForObject(refusing('metadata.uid'), APPLY, [404, 409], NEVER), undefined);
    await assert.rejects(sendForObject(refusing('metadata.uid'), APPLY, [404], NEVER), { code: 'API_REFUSED' });
  });

  it('a patch that is invalid otherwise is refused', async () => {
    await assert.rejects(sendForObject(refusing('spec.nodeName'), APPLY, [404, 409], NEVER), { code: 'API_REFUSED' });
  });

  it('a write that the API server has no time for is sent again as it asks, and refused where it stays busy', async () => {
    const ok = { metadata: { name: 'p' } };
    const answers = (busy: number, status: number): { readonly client: KubeClient; readonly sent: () => number } => {
      let sent = 0;
      const send: KubeClient['send'] = () => {
        sent += 1;
        const answer = sent <= busy ? { status, headers: { 'retry-after': '0' } } : { status: 200, headers: {} };
        return Promise.resolve({ ...answer, body: ok });
      };
      return { client: { ...refusing(''), send }, sent: () => sent };
    };
    for (const status of [429, 503]) assert.equal(await sendForObject(answers(2, status).client, APPLY, [], NEVER), ok);
    const flooded = answers(Infinity, 429);
    await assert.rejects(sendForObject(flooded.client, APPLY, [], NEVER), { code: 'API_REFUSED' });
    assert.equal(flooded.sent(), 4);
    const failing = answers(Infinity, 500);
    await assert.rejects(sendForObject(failing.client, APPLY, [], NEVER), { code: 'API_REFUSED' });
    assert.equal(failing.sent(), 1, 'another failure is none of being busy');
  });
});
