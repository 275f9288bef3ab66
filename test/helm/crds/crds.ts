import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { assertDeclared } from '../../needs/declared.ts';

/** In which folder of its module each custom resource is that an object of the chart has. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'github.com/cert-manager/cert-manager': ['certificates', 'issuers'].map(
    (name) => `deploy/crds/cert-manager.io_${name}.yaml`,
  ),
  'github.com/prometheus-operator/prometheus-operator': ['podmonitors', 'prometheusrules', 'scrapeconfigs'].map(
    (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
  ),
};

/** The files of the custom resources of others that the chart has objects of, of the versions that go.mod pins. */
export async function foreignCrds(signal: AbortSignal): Promise<readonly string[]> {
  assertDeclared('foreign-crds');
  const modules = Object.keys(FILES);
  const options = { cwd: import.meta.dirname, signal };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', ...modules], options);
  const folders = new Map(
    [...stdout.matchAll(/"Path": "(?<module>[^"]*)"[^}]*?"Dir": "(?<folder>[^"]*)"/g)].map(({ groups }) => [
      groups?.['module'] ?? '',
      groups?.['folder'] ?? '',
    ]),
  );
  const files = modules.flatMap((module) =>
    (FILES[module] ?? []).map((file) => path.join(folders.get(module) ?? module, file)),
  );
  await Promise.all(files.map((file) => readFile(file)));
  return files;
}
