import type { KubeObject } from '../../api/meta.ts';
import { LEFT_OVER_PLACES, leftOversOf } from '../../show/checks/left-overs.ts';

/** The object of a path; undefined where there is none. */
type Get = <T>(path: string) => Promise<T | undefined>;

/** Names what is left in the cluster of versions before this one, as RESOURCE/NAME, each once. */
export async function readLeftOvers(get: Get): Promise<readonly string[]> {
  const found = await Promise.all(
    LEFT_OVER_PLACES.map(async (place) => {
      const list = await get<{ readonly items?: readonly KubeObject[] }>(place.path);
      return leftOversOf(
        place,
        (list?.items ?? []).map(({ metadata }) => metadata.name),
      );
    }),
  );
  return [...new Set(found.flat())];
}
