import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError, type ResponseErrorBody } from '../../protocol/index.js';
import { BreakConnectionError, ModelError } from '../../providers/index.js';
import {
  ConversationChangedError,
  isOutOfPlace,
  SessionFullError,
  StateError,
  StoreUnavailableError,
  WriteLockLostError,
} from '../../state/index.js';
import type { Outcome } from '../assembler/response-snapshot.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import { Prompts } from '../prompts/prompts.js';
import type { ActiveTurn } from './active-turn.js';
import type { AdmittedTurn } from './admit.js';
import { type StopReason, TurnStoppedError } from './stop-reason.js';

const STOP_MESSAGES = {
  disconnect: 'The client disconnected.',
  cut: 'The connection was broken.',
  timeout: 'The model did not answer in time. Please retry your request.',
  drain: 'The server is shutting down. Please retry your request.',
  expiry: 'The connection reached its end before the response was complete. Please retry on a new connection.',
  cancel: 'The response was cancelled.',
  hand_over: 'The server is shutting down. Please retry your request.',
  lost: 'Another server goes on with the response.',
  over: 'The turn is over.',
} as const satisfies Record<Exclude<StopReason, 'time_limit' | 'lock_lost'>, string>;

const NOT_SAVED = 'The response could not be saved. Please retry your request.';
const CHANGED = 'The conversation was changed while the response was made. Please retry your request.';
const DELETED = 'The conversation was deleted while the response was made.';

/** Converts errors of a turn to errors for clients; logs details that clients must not see. */
@Injectable()
export class TurnFailures {
  private readonly logger = new Logger('Turn');
  private readonly outages = new OutageLog(this.logger);

  constructor(
    private readonly environment: Environment,
    private readonly prompts: Prompts,
  ) {}

  /** The outcome of a failed response: open items are closed as incomplete, and reported usage counts. */
  toFailedOutcome(assembler: ResponseAssembler, error: ResponseErrorBody): Outcome {
    assembler.cutItems();
    return { status: 'failed', usage: assembler.usage, error };
  }

  /** A failure after `response.created`, as `response.error` shows it (protocol §5). */
  toResponseError(error: unknown, turn: AdmittedTurn): ResponseErrorBody {
    if (error instanceof ModelError) return toDelayedBody(error);
    if (error instanceof ApiError) return toErrorBody(error);
    if (isOutOfPlace(error)) return this.toSaveError(error, turn);
    if (error instanceof StoreUnavailableError) {
      this.log(error, turn);
      return { code: 'service_unavailable', message: error.toApiError().message };
    }
    if (error instanceof BreakConnectionError) return { code: 'server_error', message: STOP_MESSAGES.cut };
    if (error instanceof TurnStoppedError) {
      if (error.reason === 'time_limit') return this.toResponseError(this.outOfTime(), turn);
      return { code: 'server_error', message: stopMessage(error.reason, turn) };
    }
    this.log(error, turn);
    return { code: 'server_error', message: ApiError.unexpected(turn.caller.requestId, error).message };
  }

  /** A failure before `response.created`, as an HTTP error or error frame (protocol §7). */
  toRefusal(error: unknown, turn: AdmittedTurn): ApiError {
    if (error instanceof ApiError) return this.prompts.toOwnPlaces(error, turn.settings.prompt, turn.caller.tenant);
    if (error instanceof ModelError) return error.toApiError();
    if (error instanceof TurnStoppedError) {
      return error.reason === 'time_limit' ? this.outOfTime() : ApiError.retryLater(stopMessage(error.reason, turn));
    }
    if (isOutOfPlace(error) || error instanceof SessionFullError) return this.toSaveRefusal(error, turn);
    const refusal =
      error instanceof StateError ? error.toApiError() : ApiError.unexpected(turn.caller.requestId, error);
    // Client errors are not logged.
    if (refusal.status >= 500) this.log(error, turn);
    return refusal;
  }

  /**
   * The refusal of a response that its upstream has broken off, for a client that may send its request again: 503, or the upstream's own 5xx.
   * Null for every other failure, which the same request would meet again.
   */
  toBreakOff(error: unknown, turn: ActiveTurn): ApiError | null {
    if (error instanceof TurnStoppedError)
      return error.reason === 'timeout' ? this.toRefusal(error, turn.admitted) : null;
    if (!(error instanceof ModelError) || !isOfUpstream(turn)) return null;
    const { status = 500 } = error.options;
    if (status < 500) return null;
    if (status !== 500) return error.toApiError();
    return ApiError.of('model_unavailable', error.message, { headers: { 'retry-after': '1' }, cause: error });
  }

  /** The error of a finished response that could not be saved. */
  toSaveError(error: unknown, turn: AdmittedTurn): ResponseErrorBody {
    if (error instanceof SessionFullError) return toErrorBody(error.toApiError());
    // Clients delete conversations as they like.
    if (!isDeletion(error)) this.log(error, turn);
    return { code: 'server_error', message: saveMessage(error, turn) };
  }

  /** The error of a response that could not be saved, for a client that gets none: 503, 400 when its session is full, and 404 when its conversation is gone. */
  toSaveRefusal(error: unknown, turn: AdmittedTurn): ApiError {
    if (error instanceof SessionFullError) return error.toApiError(turn.session?.param);
    const { message } = this.toSaveError(error, turn);
    if (!isDeletion(error)) return ApiError.retryLater(message, error);
    return new ApiError(404, 'invalid_request_error', null, null, message, { 'x-should-retry': 'false' }, error);
  }

  private outOfTime(): ApiError {
    const seconds = this.environment.MAX_TURN_MS / 1000;
    return ApiError.of('turn_time_limit_exceeded', `The turn took longer than its limit of ${seconds} seconds.`);
  }

  /** Logs an error; temporary failures without a stack. */
  private log(error: unknown, { responseId, caller }: AdmittedTurn): void {
    const line = `${responseId} of request ${caller.requestId} failed`;
    if (error instanceof StoreUnavailableError) this.outages.warn(line, error.message);
    else this.logger.error(line, error);
  }
}

/** Whether an upstream broke off its answer, and may be asked again. */
export function isBreak(error: unknown, turn: ActiveTurn): boolean {
  return error instanceof ModelError && error.retry === 'same' && isOfUpstream(turn);
}

/** Whether the last request to an upstream has failed. Providers of programs, and the simulator, fail as they like. */
function isOfUpstream({ attempts }: ActiveTurn): boolean {
  return (attempts.at(-1)?.errorCode ?? null) !== null;
}

function stopMessage(reason: Exclude<StopReason, 'time_limit'>, turn: AdmittedTurn): string {
  return reason === 'lock_lost' ? lockLost(turn) : STOP_MESSAGES[reason];
}

function saveMessage(error: unknown, turn: AdmittedTurn): string {
  if (error instanceof WriteLockLostError) return lockLost(turn);
  if (!(error instanceof ConversationChangedError)) return NOT_SAVED;
  return error.isDeleted ? DELETED : CHANGED;
}

/** An error as `response.error` shows it, where it always has a code: clients repeat what fails with `server_error`. */
export function toErrorBody({ code, message, status }: ApiError): ResponseErrorBody {
  return { code: code ?? (status < 500 ? 'invalid_prompt' : 'server_error'), message };
}

/** Codes of errors whose text clients search for a delay: Codex those of the first two. A stream that has begun has no header for it. */
const CODES_WITH_DELAY: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'slow_down', 'server_is_overloaded']);

/** An error with the delay that the model's server asked for, in `headers` and, unless it states one, in its message. */
function toDelayedBody({ code, message, retryAfter }: ModelError): ResponseErrorBody {
  if (retryAfter === undefined) return { code, message };
  const headers = { 'retry-after': retryAfter };
  if (!CODES_WITH_DELAY.has(code) || /try again in/i.test(message)) return { code, message, headers };
  const words = message.replace(/\s*Please retry your request\.$/, '');
  return { code, message: `${words} Please try again in ${retryAfter} s.`, headers };
}

function isDeletion(error: unknown): boolean {
  return error instanceof ConversationChangedError && error.isDeleted;
}

/** The lock of a turn is that of its conversation or, without one, of its session. */
function lockLost({ settings }: AdmittedTurn): string {
  const what = settings.conversation == null ? 'session' : 'conversation';
  return `Another request took over the ${what}. Please retry your request.`;
}
