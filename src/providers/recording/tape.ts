import type { Clock } from '../../time/index.js';
import { BreakConnectionError, ModelError } from '../model-error.js';
import { MODEL_EVENT_TYPES, type ModelEvent } from '../model-event.js';

/** A step of a script, with the members that recordings use. */
export interface RecordedStep {
  /** Milliseconds since the turn began. */
  readonly at: number;
  readonly events?: readonly ModelEvent[];
  readonly error?: object;
  readonly cut?: true;
  readonly end?: true;
}

/** Collects the events of one turn with their times. */
export class Tape {
  readonly steps: RecordedStep[] = [];
  private readonly begun: number;
  private finished = false;

  constructor(private readonly clock: Clock) {
    this.begun = clock.now();
  }

  /** Whether the answer has ended or failed. Later events are not recorded. */
  get isFinished(): boolean {
    return this.finished;
  }

  /**
   * Records a batch up to its end or first invalid event. `metadata` is omitted, because headers may contain credentials.
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

  /** Records the error as the client sees it: errors other than ModelError become a generic `server_error`. */
  fail(error: unknown): void {
    if (this.finished) return;
    this.finished = true;
    const at = this.now();
    if (error instanceof BreakConnectionError) this.steps.push({ at, cut: true });
    else this.steps.push({ at, error: error instanceof ModelError ? toScriptError(error) : BARE });
  }

  /** Replaces the last step, which held an invalid event, with the failure that it caused. */
  refuse(): void {
    this.steps.pop();
    this.fail(undefined);
  }

  /** Records the end of the stream, if there was no `finish`. */
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
