import { redacting } from '../../src/cli/secrets/redact.ts';

/** The text without what looks like a secret, in one go. */
export function redacted(text: string): string {
  const work = redacting(text);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
