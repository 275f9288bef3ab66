import { existsSync, globSync } from 'node:fs';
import path from 'node:path';

/** Tests of the repository and of the tests themselves: they have no file of the source. */
const OTHERS = /^(?:repository|chaos|e2e|simulation)\//;

/**
 * The unit tests, without their ending, that have no file of the source at their path. A second test of a file begins with
 * the name of that file: `request-clock-ahead` is of `request.ts`.
 */
export function unmirroredTests(root: string): readonly string[] {
  const tests = globSync('**/*.test.ts', { cwd: path.join(root, 'test', 'unit') }).map((file) =>
    file.slice(0, -'.test.ts'.length),
  );
  const isMirrored = (test: string): boolean => {
    const words = path.basename(test).split('-');
    return words.some((_, index) => {
      const name = words.slice(0, index + 1).join('-');
      return existsSync(path.join(root, 'src', path.dirname(test), `${name}.ts`));
    });
  };
  return tests.filter((test) => !OTHERS.test(test) && !isMirrored(test)).toSorted();
}
