import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import {
  hostsOf,
  renewalReason,
  type ServingCertificate,
  trustedAuthorities,
} from '../../../../src/kube/certificate/renewal.ts';
import { type IssuedCertificate, issueServingCertificate } from '../../../../src/kube/certificate/issue.ts';

const HOSTS = ['nodemaint-webhook.nodemaint-system.svc', '127.0.0.1'];
const NOW = Date.parse('2026-05-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;

const issue = (notBefore = NOW, hosts = HOSTS): Promise<IssuedCertificate> =>
  issueServingCertificate({ hosts, notBefore, notAfter: notBefore + 90 * DAY_MS });

describe('a serving certificate', () => {
  let issued: IssuedCertificate;
  let other: IssuedCertificate;
  let serving: ServingCertificate;
  before(async () => {
    [issued, other] = await Promise.all([issue(), issue()]);
    serving = { ...issued, authorities: issued.certificate };
  });

  it('a serving certificate is for its hosts and its own authority, and leaves no trace of the library behind', () => {
    const certificate = new X509Certificate(issued.certificate);
    assert.ok(certificate.verify(certificate.publicKey) && certificate.checkIssued(certificate));
    assert.deepEqual(hostsOf(serving), HOSTS);
    const found = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
    assert.deepEqual(found, [NOW, NOW + 90 * DAY_MS]);
    assert.notEqual(certificate.serialNumber, new X509Certificate(other.certificate).serialNumber);
    assert.ok(!Reflect.has(Reflect, 'getMetadata'));
  });

  it('a serving certificate goes on until less than a third of its life is left', () => {
    assert.equal(renewalReason(serving, HOSTS, NOW), undefined);
    assert.equal(renewalReason(serving, HOSTS, NOW + 60 * DAY_MS), undefined);
    const text = renewalReason(serving, HOSTS, NOW + 60 * DAY_MS + 1) ?? '';
    assert.match(text, /valid until 2026-07-30T12:00:00.000Z only/);
    assert.match(renewalReason(serving, HOSTS, NOW + 900 * DAY_MS) ?? '', /valid until/);
    assert.match(renewalReason(serving, HOSTS, NOW - 1) ?? '', /not valid before/);
  });

  it('a serving certificate is renewed when it is for too few hosts, and not when it is for more', () => {
    assert.equal(renewalReason(serving, HOSTS.slice(1), NOW), undefined);
    assert.match(renewalReason(serving, [...HOSTS, 'x.example.com', '::1'], NOW) ?? '', /not for x.example.com, ::1/);
  });

  it('a serving certificate is renewed when it cannot be used', () => {
    const broken: readonly [Partial<ServingCertificate>, RegExp][] = [
      [{ certificate: '' }, /cannot be read/],
      [{ certificate: issued.certificate.replace(/\n[A-Za-z]{4}/, '\nAAAA') }, /cannot be read/],
      [{ key: '' }, /its key does not fit/],
      [{ key: other.key }, /its key does not fit/],
      [{ authorities: '' }, /its authority is not there/],
      [{ authorities: other.certificate }, /its authority is not there/],
    ];
    for (const [fields, words] of broken) {
      assert.match(renewalReason({ ...serving, ...fields }, HOSTS, NOW) ?? '', words);
    }
    assert.deepEqual(hostsOf({ ...serving, certificate: 'garbage' }), []);
  });

  it('a serving certificate is trusted together with those before it that are still valid, of which there are few', async () => {
    const count = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
    assert.equal(trustedAuthorities(issued.certificate, '', NOW), issued.certificate);
    const two = trustedAuthorities(other.certificate, issued.certificate, NOW);
    assert.equal(two, other.certificate + issued.certificate);
    assert.equal(trustedAuthorities(other.certificate, issued.certificate, NOW + 90 * DAY_MS), other.certificate);
    assert.equal(trustedAuthorities(other.certificate, 'garbage', NOW), other.certificate);
    let many = two;
    for (let index = 0; index < 3; index += 1) many = trustedAuthorities((await issue()).certificate, many, NOW);
    assert.equal(count(many), 3);
  });
});
