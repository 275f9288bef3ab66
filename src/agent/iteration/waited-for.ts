/** Who is to act where a call to the API server fails, or is refused for no reason of the pod. */
export const API_SERVER = 'API server';

/** One pod, or one thing, that the agent waits for. */
export interface Waiting {
  readonly what: string;
  /** Who is to act, for example an interceptor. */
  readonly on: string;
  readonly message: string;
  /** Whether the pod's containers are ending. */
  readonly ending?: true;
  /** Milliseconds since the epoch; absent where it is not known. */
  readonly since?: number;
  /** When it should be over, in milliseconds since the epoch; absent where nobody can say. */
  readonly expectedAt?: number;
}
