const ignore = (): void => undefined;

/** A log that keeps nothing, for parts whose log no test reads. */
export const SILENT_LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
