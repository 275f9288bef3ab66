import { execFile } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import * as z from 'zod';

const text = z.string().min(1);

/** The program in a kubeconfig that gives credentials (client.authentication.k8s.io). */
export const execSchema = z.strictObject({
  apiVersion: text,
  command: text,
  args: z.array(z.string()).nullish(),
  env: z.array(z.strictObject({ name: text, value: z.string() })).nullish(),
  interactiveMode: z.string().optional(),
  installHint: z.string().optional(),
  provideClusterInfo: z.literal(false).optional(),
});

const answerSchema = z.object({
  status: z.object({
    token: text.optional(),
    clientCertificateData: text.optional(),
    clientKeyData: text.optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});
type Given = z.infer<typeof answerSchema>['status'];

const LIMITS = { timeout: 30_000, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
/** What is refused although it is as new as this is not asked for again: the program is not the reason. */
const NEW_MS = 10_000;

/** The credentials that a program gives, until their time is over or the API server refuses them. */
export class ExecCredentials {
  readonly #exec: z.infer<typeof execSchema>;
  readonly #folder: string;
  /** What was given last, or is asked for now; several requests ask once. */
  #given: Promise<Given> | undefined;
  #askedAt = 0;

  /** `folder` is the one of the kubeconfig. */
  constructor(exec: z.infer<typeof execSchema>, folder: string) {
    this.#exec = exec;
    this.#folder = folder;
  }

  /** Adds the credentials to the options of a request. Throws what the program says. */
  async apply(options: RequestOptions): Promise<void> {
    const { token, clientCertificateData: cert, clientKeyData: key } = await this.#current();
    if (cert !== undefined) options.cert = Buffer.from(cert);
    if (key !== undefined) options.key = key;
    if (token !== undefined) options.headers = { Authorization: `Bearer ${token}` };
  }

  /** Told that the API server has refused what was given last. */
  refused(): void {
    if (performance.now() - this.#askedAt > NEW_MS) this.#given = undefined;
  }

  async #current(): Promise<Given> {
    const before = this.#given;
    const given = await before;
    if (given !== undefined && Date.parse(given.expirationTimestamp ?? '9999-12-31') > Date.now()) return given;
    if (this.#given === before) this.#given = this.#ask();
    const asked = this.#given;
    try {
      return (await asked) as Given;
    } catch (error) {
      if (this.#given === asked) this.#given = undefined;
      throw error;
    }
  }

  async #ask(): Promise<Given> {
    this.#askedAt = performance.now();
    const { apiVersion, command, args, env } = this.#exec;
    const file = command.includes('/') ? path.resolve(this.#folder, command) : command;
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
    const variables = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info), ...own };
    const { stdout } = await promisify(execFile)(file, args ?? [], { ...LIMITS, env: variables });
    return answerSchema.parse(JSON.parse(stdout)).status;
  }
}
