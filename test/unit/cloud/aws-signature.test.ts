import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signPost } from '../../../src/cloud/aws-signature.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SCOPE = { region: 'us-east-1', service: 'service', at: Date.UTC(2015, 7, 30, 12, 36, 0) };
const URL_OF_SUITE = new URL('https://example.amazonaws.com/');

describe('the signature of a request to AWS', () => {
  it("the signature is the one that AWS's own test suite has for a form", () => {
    const contentType = 'application/x-www-form-urlencoded';
    const request = { url: URL_OF_SUITE, contentType, body: 'Param1=value1' };
    // post-x-www-form-urlencoded of the suite of Signature Version 4.
    assert.deepEqual(signPost(request, { ...KEYS, sessionToken: '' }, SCOPE), {
      'content-type': contentType,
      'x-amz-date': '20150830T123600Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    });
  });

  it('the signature covers the token of a role', () => {
    const request = { url: URL_OF_SUITE, contentType: 'text/plain', body: '' };
    const [one, other] = ['a', 'b'].map((sessionToken) => signPost(request, { ...KEYS, sessionToken }, SCOPE));
    assert.equal(one?.['x-amz-security-token'], 'a');
    assert.match(one?.['authorization'] ?? '', /SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,/);
    assert.notEqual(one?.['authorization'], other?.['authorization']);
  });
});
