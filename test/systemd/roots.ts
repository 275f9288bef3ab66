/** Root folders of Debian releases for containers with a systemd, a runtime and no kernel. */
import { assertDeclared } from '../needs/declared.ts';
import { type Debian, madeOnce, makeSystem, runContained } from './debian.ts';

/** The root folder of the system of a release; made once and kept by its recipe. */
export async function systemRoot(debian: Debian, signal: AbortSignal): Promise<string> {
  assertDeclared(`root-${debian}`);
  return await madeOnce('roots', debian, import.meta.filename, async (root) => {
    await makeSystem(debian, root, {}, signal);
    // A folder of mkdtemp is for its owner alone.
    await runContained(['chmod', '0755', root], signal);
  });
}
