/** How a process ended: with an exit code, or by a signal. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A worker, as the primary process sees it. */
export interface WorkerProcess {
  /** Undefined when the process could not be created. */
  readonly pid: number | undefined;
  /**
   * Resolves with the URL of the worker, or with undefined when it exited before it listened. Rejects with
   * WorkerStartError when it said why it cannot listen.
   */
  readonly listening: Promise<string | undefined>;
  /** Resolves when it has exited. */
  readonly exited: Promise<WorkerExit>;
  kill(signal: NodeJS.Signals): void;
}

/** A worker said why it cannot listen, or there can be none; the message is for the operator. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}

/** The exit as text: `exit code 1`, `SIGKILL`. */
export function describeExit({ code, signal }: WorkerExit): string {
  return signal ?? `exit code ${code ?? 'unknown'}`;
}
