import type { Clock } from '../../time/index.js';
import { BreakConnectionError } from '../break-connection.js';
import { ModelError } from '../model-error.js';
import { MODEL_EVENT_TYPES, type ModelEvent } from '../model-event.js';

/** A step of a script, as far as recordings have them. */
export interface RecordedStep {
  /** Milliseconds since the turn began. */
  readonly at: number;
  readonly events?: readonly ModelEvent[];
  readonly error?: object;
  readonly cut?: true;
  readonly end?: true;
}

/** What a provider writes in one turn, with its times. */
export class Tape {
  readonly steps: RecordedStep[] = [];
  private readonly begun: number;
  private finished = false;

  constructor(private readonly clock: Clock) {
    this.begun = clock.now();
  }

  /** Whether the answer has come to its end, or to a failure: nothing after it is kept. */
  get isFinished(): boolean {
    return this.finished;
  }

  /**
   * Headers and ids of the upstream are not kept: they may hold credentials. What comes after the end, or after something
   * that no model may say, reaches no client and is not kept either.
   */
  add(batch: readonly unknown[]): void {
    const events: ModelEvent[] = [];
    const end = batch.findIndex((event) => !isModelEvent(event) || event.type === 'finish');
    for (const event of end === -1 ? batch : batch.slice(0, end + 1)) {
      if (isModelEvent(event) && event.type !== 'metadata') events.push(event);
    }
    if (events.length > 0) this.steps.push({ at: this.now(), events });
    if (end === -1) return;
    if (isModelEvent(batch[end])) this.finished = true;
    else this.fail(undefined);
  }

  /** Keeps what the client was told; anything else is a bare `server_error`, as the client saw it. */
  fail(error: unknown): void {
    if (this.finished) return;
    this.finished = true;
    const at = this.now();
    if (error instanceof BreakConnectionError) this.steps.push({ at, cut: true });
    else this.steps.push({ at, error: error instanceof ModelError ? toScriptError(error) : BARE });
  }

  /** What came last was no event of a model: it is replaced by the failure that it led to. */
  refuse(): void {
    this.steps.pop();
    this.fail(undefined);
  }

  /** The model's stream is over, with or without a `finish`. */
  close(): void {
    if (this.finished) return;
    this.finished = true;
    this.steps.push({ at: this.now(), end: true });
  }

  private now(): number {
    return this.clock.now() - this.begun;
  }
}

const BARE = { code: 'server_error', message: 'The model failed.', status: 500 };

function toScriptError({ code, message, options }: ModelError): object {
  const { status, type, param, retryAfterMs } = options;
  const isStatus = status !== undefined && Number.isInteger(status) && status >= 400 && status <= 599;
  return {
    code: code === '' ? BARE.code : code,
    message,
    ...(isStatus ? { status } : {}),
    ...(type === undefined ? {} : { type }),
    ...(param == null ? {} : { param }),
    ...(retryAfterMs === undefined || !(retryAfterMs >= 0 && retryAfterMs <= 1e12)
      ? {}
      : { retry_after: retryAfterMs / 1000 }),
  };
}

function isModelEvent(event: unknown): event is ModelEvent {
  return typeof event === 'object' && event !== null && MODEL_EVENT_TYPES.has((event as ModelEvent).type);
}
