/** The hashes of packages that npm has left out of the lock file, because it has not fetched them: tools of other systems. */

/** A package as the lock file has it, as far as it is needed here. */
export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
}

/** A lock file, as far as it is needed here. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const FOLDER = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)$/;

/** The packages without a hash: their folders, each with `NAME@VERSION`. */
export function withoutHash({ packages }: Lock): ReadonlyMap<string, string> {
  const found = Object.entries(packages).flatMap(([folder, { version, integrity, link }]) => {
    const name = FOLDER.exec(folder)?.[1];
    return name === undefined || link === true || integrity !== undefined ? [] : [[folder, `${name}@${version ?? ''}`] as const];
  });
  return new Map(found);
}

/**
 * The lock file with the hashes that `ask` gives for `NAME@VERSION`, and the packages for which it gives none. A hash that is
 * there is never changed.
 */
export async function fillHashes<T extends Lock>(
  lock: T,
  ask: (nameWithVersion: string) => Promise<string | undefined>,
): Promise<{ readonly lock: T; readonly unknown: readonly string[] }> {
  const packages: Record<string, LockedPackage> = { ...lock.packages };
  const unknown: string[] = [];
  for (const [folder, what] of withoutHash(lock)) {
    const integrity = await ask(what);
    if (integrity?.startsWith('sha512-') !== true) {
      unknown.push(what);
      continue;
    }
    const { version = '', ...others } = packages[folder] ?? {};
    packages[folder] = { version, integrity, ...others };
  }
  return { lock: { ...lock, packages }, unknown };
}
