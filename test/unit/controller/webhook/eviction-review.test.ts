import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseReview, refusalAnswer } from '../../../../src/controller/webhook/eviction-review.ts';
import { parseMaintenanceReview } from '../../../../src/controller/webhook/maintenance-review.ts';
import { decideTimes } from '../../../../src/decide/eviction/admission-times.ts';
import { reviewOf } from '../../../support/rigs/webhook.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

/** A review of a write of the first interceptor's start. */
function startingAt(startTime: string): string {
  return JSON.stringify(reviewOf({ status: { interceptors: [{ name: 'actor-a.example.com', startTime }] } }));
}

describe('a review', () => {
  it('a review is read whatever the length of its fractions of a second is', () => {
    for (const digits of [1, 3, 9, 60, 900]) {
      for (const [second, kind] of [
        ['2026-01-01T00:00:00', 'allowed'],
        ['2099-01-01T00:00:00', 'refused'],
      ] as const) {
        const review = parseReview(startingAt(`${second}.${'0'.repeat(digits)}Z`));
        assert.ok(!('wrong' in review), JSON.stringify(review));
        assert.equal(decideTimes(review.old, review.fresh, NOW).kind, kind);
      }
    }
  });

  it('a review that cannot be understood has its uid read, so that it can be refused', () => {
    const text = JSON.stringify(reviewOf({}));
    const strange = [
      startingAt(`2026-01-01T00:00:00.${'0'.repeat(2_000)}Z`),
      text.replace('coordination.x-k8s.io', 'apps'),
      text.replace('"status"', '"scale"'),
      text.replace('UPDATE', 'CONNECT'),
      JSON.stringify(reviewOf({ status: { interceptors: [{ name: 1 }] } })),
      JSON.stringify(reviewOf({ metadata: { name: 'n'.repeat(1_000_000) } })),
    ];
    for (const body of strange) {
      const review = parseReview(body);
      assert.ok('wrong' in review, body.slice(0, 200));
      assert.ok(review.uid === 'r-1' && review.wrong.length <= 2_000);
      const { response } = JSON.parse(refusalAnswer(review.uid, review.wrong)) as { response: object };
      assert.deepEqual(Object.entries(response).slice(0, 2), [
        ['uid', 'r-1'],
        ['allowed', false],
      ]);
    }
    const maintenance = parseMaintenanceReview(text);
    assert.ok('wrong' in maintenance && maintenance.uid === 'r-1');
  });

  it('a body is no review without the kind, the version and the uid of one', () => {
    const text = JSON.stringify(reviewOf({}));
    for (const body of ['', 'null', '[]', '{}', text.replace('AdmissionReview', 'Pod'), text.replace('r-1', '')]) {
      const review = parseReview(body);
      assert.ok('wrong' in review && review.uid === undefined, body.slice(0, 100));
    }
  });
});
