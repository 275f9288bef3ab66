/** What tests need is made before they begin, because it takes minutes: who asks for something must have declared it. */
import process from 'node:process';

/**
 * Something that is made once and kept in the cache: kubectl and helm, the programs of the release of Kubernetes that the tests
 * run, a program or files of a Go module, the image of the machine, the root folder of a Debian release.
 */
export type Need =
  | 'clients'
  | 'kubernetes'
  | 'helm-docs'
  | 'foreign-crds'
  | 'nfpm'
  | 'kubeadm'
  | 'prometheus'
  | 'machine'
  | `root-${'12' | '13' | 'unstable'}`;

/** The environment variable by which the runner tells a test file what was made for it, with commas between. */
export const DECLARED = 'NODEMAINT_TEST_NEEDS';

/** Throws where a test asks for what was not made for its file. A file that is run by hand makes it itself. */
export function assertDeclared(need: string): void {
  const declared = process.env[DECLARED];
  if (declared === undefined || declared.split(',').includes(need)) return;
  const file = process.argv[1] ?? '';
  throw new Error(`${file} asks for ${need}, but does not import the module that test/needs/table.ts names for it`);
}
