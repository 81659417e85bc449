import { ApiError } from '../protocol/index.js';

/** An error of a state backend, with its form for clients. */
export abstract class StateError extends Error {
  abstract toApiError(): ApiError;
}

/** The store is unavailable or cannot take a record: the request fails. */
export class StoreUnavailableError extends StateError {
  override readonly name: string = 'StoreUnavailableError';

  override toApiError(): ApiError {
    return ApiError.retryLater('The storage is not available. Please retry your request.', this);
  }
}

/** What is stored of one thing cannot be read: its text is no JSON, or has not the shape of such a thing. Nothing else is affected. */
export class DamagedRecordError extends StateError {
  override readonly name = 'DamagedRecordError';

  constructor(
    /** The path of the API where it can be deleted, such as `/v1/files/file-1`; otherwise what it is. */
    readonly record: string,
    reason: string,
  ) {
    super(`${record} is damaged: ${reason}`);
  }

  override toApiError(): ApiError {
    const message = `What is stored of ${this.record} is damaged and cannot be read. Delete it, or restore it from a backup.`;
    return ApiError.of('server_error', message, { headers: { 'x-should-retry': 'false' }, cause: this });
  }
}

/** A vector index has no room for more chunks. */
export class IndexFullError extends StoreUnavailableError {
  override readonly name = 'IndexFullError';
}

/** The lock of a turn expired and another turn acquired it: its response would be saved out of order. */
export class WriteLockLostError extends StoreUnavailableError {
  override readonly name = 'WriteLockLostError';

  /** `name`: of a session, or as `conversationLock` makes it. */
  constructor(name: string) {
    super(`the lock on ${name} was lost`);
  }
}

/** A conversation was changed or deleted while a turn of it ran, which its lock could not prevent: nothing is saved. */
export class ConversationChangedError extends StoreUnavailableError {
  override readonly name = 'ConversationChangedError';

  constructor(
    conversationId: string,
    /** Whether it was deleted. */
    readonly isDeleted = false,
  ) {
    super(`the conversation ${conversationId} was ${isDeleted ? 'deleted' : 'changed'} while a turn of it ran`);
  }
}

/** Whether a turn can never be saved: others have its lock, or its conversation is not as it has read it. */
export function isOutOfPlace(error: unknown): error is WriteLockLostError | ConversationChangedError {
  return error instanceof WriteLockLostError || error instanceof ConversationChangedError;
}

/** An attempt to run a background response may write nothing more: the response has ended, or another attempt runs. */
export class RunLostError extends Error {
  override readonly name = 'RunLostError';

  constructor(responseId: string) {
    super(`the run of ${responseId} was lost`);
  }
}

/** Thrown by the handler of a job that is to be delivered again, as expected: it is not logged. */
export class JobHandedBackError extends Error {
  override readonly name = 'JobHandedBackError';
}

/** Too many background responses are queued, for the service or the tenant. */
export class QueueFullError extends StateError {
  override readonly name = 'QueueFullError';

  constructor(private readonly bound: 'total' | 'perTenant') {
    super('the queue is full');
  }

  override toApiError(): ApiError {
    const whose = this.bound === 'total' ? 'The server has' : 'You have';
    const message = `${whose} reached the limit of queued background responses. Please retry your request later.`;
    return ApiError.of('background_queue_full', message, { headers: { 'retry-after': '5' } });
  }
}

/** The session of a response has as many as it may have: nothing is saved. */
export class SessionFullError extends StateError {
  override readonly name = 'SessionFullError';

  constructor(private readonly limit: number) {
    super('the session is full');
  }

  /** `param`: what named the session. */
  override toApiError(param: string | null = null): ApiError {
    const message = `The session has reached its maximum of ${this.limit} responses. Start a new session, or fork this one up to an earlier response.`;
    return ApiError.of('session_limit_reached', message, { param });
  }
}

/** The cursor of a page is not in the list, and has not just gone from it. */
export class UnknownCursorError extends StateError {
  override readonly name = 'UnknownCursorError';
  private readonly param: 'after' | 'before';

  constructor(private readonly page: { readonly after?: string; readonly before?: string }) {
    super('there is no such cursor in the list');
    this.param = page.after === undefined ? 'before' : 'after';
  }

  override toApiError(): ApiError {
    const message = `Invalid '${this.param}': there is nothing with id '${this.page[this.param]}' in this list.`;
    return ApiError.of('invalid_value', message, { param: this.param });
  }
}

/** The transcript, or the referenced items of a request, exceed CONTEXT_MAX_BYTES. */
export class ContextTooLargeError extends StateError {
  override readonly name = 'ContextTooLargeError';

  constructor(
    private readonly limit: number,
    private readonly param: 'previous_response_id' | 'conversation' | 'input',
  ) {
    super('the stored context is too large');
  }

  override toApiError(): ApiError {
    const message = `The stored context of this request is larger than ${this.limit} bytes. Start again with less context.`;
    return ApiError.of('context_length_exceeded', message, { param: this.param });
  }
}

/** The graph around a response has more responses than one request may read. */
export class GraphTooLargeError extends StateError {
  override readonly name = 'GraphTooLargeError';

  constructor(private readonly limit: number) {
    super('the graph is too large');
  }

  override toApiError(): ApiError {
    const message = `The request would read more than ${this.limit} responses. Start from a later response.`;
    return ApiError.of('graph_too_large', message);
  }
}

/** A state backend cannot start; the message is for the operator. */
export class StateStartError extends Error {
  override readonly name = 'StateStartError';
}

/** An error in one line for the log: why the storage does not work, without the name of a class, and of anything else with it. */
export function inOneLine(error: unknown): string {
  return error instanceof StateError ? error.message : String(error);
}
