import { ApiError } from '../protocol/index.js';
import type { PageRequest } from './page.js';

/** What a contract of this room throws; each knows what a client gets to know of it. */
export abstract class StateError extends Error {
  abstract toApiError(): ApiError;
}

/** A store that cannot answer just now, or not take a record at all: the request that needs it fails. */
export class StoreUnavailableError extends StateError {
  override readonly name: string = 'StoreUnavailableError';

  override toApiError(): ApiError {
    return ApiError.retryLater('The storage is not available. Please retry your request.', this);
  }
}

/** A turn outlived its lease on the session and another one took over: what it wants to save would come out of order. */
export class SessionLockLostError extends StoreUnavailableError {
  override readonly name = 'SessionLockLostError';

  constructor(sessionId: string) {
    super(`the lock on session ${sessionId} was lost`);
  }
}

/** The cursor of a page names nothing in the list. */
export class UnknownCursorError extends StateError {
  override readonly name = 'UnknownCursorError';
  private readonly param: 'after' | 'before';

  constructor(private readonly page: Pick<PageRequest, 'after' | 'before'>) {
    super('there is no such cursor in the list');
    this.param = page.after === undefined ? 'before' : 'after';
  }

  override toApiError(): ApiError {
    const message = `Invalid '${this.param}': there is nothing with id '${this.page[this.param]}' in this list.`;
    return ApiError.of('invalid_value', message, { param: this.param });
  }
}

/** A conversation, or what a request refers to, is larger than one turn may bring back. */
export class ContextTooLargeError extends StateError {
  override readonly name = 'ContextTooLargeError';

  constructor(
    private readonly limit: number,
    private readonly param: 'previous_response_id' | 'input',
  ) {
    super('the stored context is too large');
  }

  override toApiError(): ApiError {
    const message = `The stored items of this conversation have more than ${this.limit} bytes. Begin a new one with less.`;
    return ApiError.of('context_length_exceeded', message, { param: this.param });
  }
}

/** More responses hang on the one that was asked for than can be looked through in one request. */
export class GraphTooLargeError extends StateError {
  override readonly name = 'GraphTooLargeError';

  constructor(private readonly limit: number) {
    super('the graph is too large');
  }

  override toApiError(): ApiError {
    const message = `More than ${this.limit} responses would have to be looked through. Ask for one further down.`;
    return ApiError.of('graph_too_large', message);
  }
}

/** Why state cannot be had, in words for the operator who starts the service. */
export class StateStartError extends Error {
  override readonly name = 'StateStartError';
}
