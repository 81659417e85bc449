/** How a process ended: with an exit code, or by a signal. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that serves, as the primary process sees it. */
export interface WorkerProcess {
  /** Undefined when the system would not make the process. */
  readonly pid: number | undefined;
  /** Resolves with the URL on which it listens. Rejects with WorkerStartError when it cannot. */
  readonly listening: Promise<string>;
  /** Resolves when it is gone. */
  readonly exited: Promise<WorkerExit>;
  kill(signal: NodeJS.Signals): void;
}

/** Why a worker does not listen, in words for the operator. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}

/** The exit in words: `exit code 1`, `SIGKILL`. */
export function describeExit({ code, signal }: WorkerExit): string {
  return signal ?? `exit code ${code ?? 'unknown'}`;
}
