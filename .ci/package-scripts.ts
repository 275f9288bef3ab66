/** The maintainer scripts of the .deb and the .rpm. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');
const SCRIPTS = path.join(import.meta.dirname, 'package');

export const PACKAGE_FORMATS = ['deb', 'rpm'] as const;
/** A format of packages. */
export type Format = (typeof PACKAGE_FORMATS)[number];

/** The function "purge" of install.sh, which the package needs when install.sh is gone. Throws an Error if it is not found. */
export function purgeFunction(installer: string): string {
  const state = /^state_files=.*$/m.exec(installer)?.[0];
  const found = /^# purge: .*\n([\s\S]*?)^# end of purge$/m.exec(installer)?.[1];
  if (state === undefined || found === undefined) throw new Error('install.sh has no function "purge" between its marks');
  return `${state}\n\n${found.trim()}`;
}

/** Writes the maintainer scripts into a folder; returns how nfpm calls them. */
export async function writeScripts(folder: string, format: Format): Promise<Readonly<Record<string, string>>> {
  const installer = await readFile(path.join(ROOT, 'install.sh'), 'utf8');
  const names = { postinstall: 'postinst', preremove: 'prerm', ...(format === 'deb' ? { postremove: 'postrm' } : {}) };
  const written = Object.entries(names).map(async ([key, name]) => {
    const text = await readFile(path.join(SCRIPTS, name), 'utf8');
    const file = path.join(folder, name);
    await writeFile(file, text.replace('@PURGE@', () => purgeFunction(installer)), { mode: 0o755 });
    return [key, file];
  });
  return Object.fromEntries(await Promise.all(written)) as Record<string, string>;
}
