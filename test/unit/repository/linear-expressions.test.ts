import { describe, it } from 'node:test';
import { chooseStaticPodPath } from '../../../src/decide/machine/kubelet-config.ts';
import { assertLinear } from '../../support/processor-time.ts';

/** Texts from outside that once took a time which grew with the square of their length. */
const CASES: readonly (readonly [what: string, run: (text: string) => unknown, textOf: (length: number) => string])[] =
  [
    [
      "the static pod directory, from the kubelet's configuration",
      (text) => chooseStaticPodPath(text, { pid: 1, staticPodPath: '/a' } as never, '/x'),
      (length) => `/${'/'.repeat(length)}x`,
    ],
    [
      'the same of the running kubelet',
      (text) => chooseStaticPodPath(undefined, { pid: 1, staticPodPath: text } as never, '/x'),
      (length) => `/${'/'.repeat(length)}x`,
    ],
  ];

describe('expressions that meet texts from outside', () => {
  for (const [what, run, textOf] of CASES) {
    it(`they take a time that grows with the length of the text: ${what}`, () => {
      assertLinear(run, textOf, 8_000);
    });
  }
});
