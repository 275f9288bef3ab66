/** By what the program tells errors apart. No person sees a code: the message says what to do. */
type ErrorCode =
  | 'CONFIG_INVALID'
  | 'KUBECONFIG_INVALID'
  | 'STATIC_POD_DIRECTORY_MISSING'
  | 'MANIFEST_INVALID'
  | 'JOURNAL_CORRUPT'
  | 'RECORD_CORRUPT'
  | 'FILE_OPERATION_FAILED'
  | 'PATH_NOT_TRUSTED'
  | 'INSTALL_FAILED'
  | 'KUBELET_AMBIGUOUS'
  | 'ALREADY_RUNNING'
  | 'CONTROL_SOCKET_UNAVAILABLE'
  | 'API_UNREACHABLE'
  | 'API_REFUSED'
  | 'API_ANSWER_TOO_LARGE'
  | 'DBUS_UNAVAILABLE'
  | 'DBUS_CALL_FAILED'
  | 'LOCK_FAILED'
  | 'LEASE_LOST'
  | 'LISTEN_FAILED'
  | 'RUNTIME_UNAVAILABLE'
  | 'METADATA_FAILED'
  | 'USAGE';

/** An error that a person can act on: a code, a sentence that names the object, and the cause. */
export class NodemaintError extends Error {
  override readonly name = 'NodemaintError';
  readonly code: ErrorCode;
  /** The HTTP status by which the API server has refused; absent where it has not. */
  readonly status?: number;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { readonly status?: number | undefined }) {
    super(message, options);
    this.code = code;
    if (options?.status !== undefined) this.status = options.status;
  }
}

/** The message of anything that was thrown, with the messages of its causes that it does not say itself, outermost first. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const parts = error instanceof AggregateError ? [...new Set(error.errors.map(describeError))].join('; ') : '';
  const message = error.message || parts || 'it failed without a reason';
  if (error.cause === undefined) return message;
  const cause = describeError(error.cause);
  return message.includes(cause) ? message : `${message}: ${cause}`;
}

/** The `code` of an error of Node.js (`ENOENT`); undefined where there is none. */
export function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
