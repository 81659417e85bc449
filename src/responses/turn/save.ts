import { Injectable } from '@nestjs/common';

import type { Transcript } from '../../context/index.js';
import {
  estimateBytes,
  isCompactionTrigger,
  type RequestParameters,
  type ResponseErrorBody,
} from '../../protocol/index.js';
import { SessionGate } from '../../resources/sessions/index.js';
import { type ResponseRecord, ResponseStore, type UsageRecord, WriteLockLostError } from '../../state/index.js';
import { andThen, Clock, isPromise, type MaybePromise } from '../../time/index.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { FinalResponse } from '../assembler/response-snapshot.js';
import type { ActiveTurn, BackgroundRun } from './active-turn.js';
import { TurnFailures } from './failures.js';
import type { TurnAnswer } from './passes.js';
import type { ResolvedTurn } from './resolve.js';
import { UsageRecords } from './usage-records.js';

/** A turn that has ended. */
export class EndedTurn {
  constructor(
    readonly response: FinalResponse,
    /** What its model was given. */
    readonly transcript: Transcript,
    private readonly assembler: ResponseAssembler,
  ) {}

  /** The Response as JSON text without its closing brace. Made when it is read: streams have sent it, and doors send another. */
  get json(): string {
    return this.assembler.toJson(this.response);
  }
}

/** Estimated bytes of the members of a Response that the client did not send. */
const OTHER_MEMBERS_BYTES = 1024;

/** Ends responses: saves them, so that they can be continued, and writes their terminal events. */
@Injectable()
export class TurnSaver {
  constructor(
    private readonly store: ResponseStore,
    private readonly failures: TurnFailures,
    private readonly usage: UsageRecords,
    private readonly sessions: SessionGate,
    private readonly clock: Clock,
  ) {}

  /**
   * Ends the response. It is stored before its terminal event is sent, so that a client that has the event can continue
   * it on any replica; the end of a background response is stored together with the event. Throws ApiError 503 when it
   * cannot be saved and there is no stream, 404 when its conversation was deleted, 400 when its session is full; the errors of BackgroundRun.
   */
  end(turn: ActiveTurn, resolved: ResolvedTurn, answer: TurnAnswer): MaybePromise<EndedTurn> {
    if (turn.run !== null) return this.finish(turn, turn.run, resolved, answer);
    const saving = this.save(turn, resolved, answer);
    const { assembler, transcript } = answer;
    const terminate = (response: FinalResponse): EndedTurn => {
      assembler.terminate(response);
      return new EndedTurn(response, transcript, assembler);
    };
    return andThen(saving, terminate);
  }

  private async finish(
    turn: ActiveTurn,
    run: BackgroundRun,
    resolved: ResolvedTurn,
    { assembler, outcome, transcript }: TurnAnswer,
  ): Promise<EndedTurn> {
    const response = assembler.conclude(outcome, this.clock.nowInSeconds());
    assembler.terminate(response);
    const usage = this.usageOf(turn, response);
    await run.finish({
      response,
      given: assembler.hidden,
      origin: assembler.pass.origin,
      ...placeOf(turn, resolved, response),
      events: assembler.takeEvents(),
      notes: assembler.takeNotes(),
      usage,
    });
    turn.isUsageStored = usage !== undefined;
    turn.ended(response);
    return new EndedTurn(response, transcript, assembler);
  }

  /**
   * Saves the response if its request asks for it, remembers it for its connection, and returns it. A response that
   * cannot be saved has failed and is not remembered; without a stream, that throws ApiError 503, 404 or 400.
   */
  private save(turn: ActiveTurn, resolved: ResolvedTurn, answer: TurnAnswer): MaybePromise<FinalResponse> {
    const response = answer.assembler.conclude(answer.outcome, this.clock.nowInSeconds());
    const succeed = (): FinalResponse => {
      turn.ended(response);
      return response;
    };
    const giveUp = (error: unknown): FinalResponse => {
      turn.client.continuations?.cancelSave(response.id);
      return this.giveUp(turn, answer, error);
    };
    try {
      const saving = this.saveAndRemember(turn, resolved, answer, response);
      return isPromise(saving) ? saving.then(succeed, giveUp) : succeed();
    } catch (error) {
      return giveUp(error);
    }
  }

  private saveAndRemember(
    turn: ActiveTurn,
    resolved: ResolvedTurn,
    { assembler, transcript, included }: TurnAnswer,
    response: FinalResponse,
  ): MaybePromise<void> {
    const { parent, sessionId } = resolved;
    const { settings, parameters, caller, ttlSeconds } = turn.admitted;
    const place = placeOf(turn, resolved, response);
    const { origin } = assembler.pass;
    if (turn.stopReason === 'lock_lost') throw new WriteLockLostError(sessionId);
    const isInConversation = resolved.conversation !== null || parent?.isInConversation === true;
    // A failed response cannot be continued. A context that may lose items must be read again, or have a version to compare.
    const isKept = response.status !== 'failed' && (!isInConversation || place.conversation !== null);
    const memory = isKept ? turn.client.continuations : undefined;
    const expiresAt = settings.store ? this.clock.now() + ttlSeconds * 1000 : null;
    const remember = (): void => {
      if (memory === undefined) return;
      const whole = transcript.append(assembler.transcriptFrom(included));
      const conversation = place.conversation && { id: place.conversation.id, version: place.conversation.version + 1 };
      const known = { responseId: response.id, origin, sessionId, expiresAt };
      memory.remember({ ...known, transcript: whole, conversation, isInConversation }, parent);
    };
    if (expiresAt === null) {
      remember();
      return;
    }
    const usage = this.usageOf(turn, response);
    const given = assembler.hidden;
    const sessionLimit = this.sessions.limitOf(turn.admitted);
    const record = new TurnToSave(resolved, parameters, {
      response,
      given,
      origin,
      conversation: place.conversation,
      fence: place.fence,
      sessionLimit,
      expiresAt,
      usage,
    });
    // Another client may delete it before the save is confirmed.
    memory?.beginSave(response.id);
    const save = (): void | Promise<void> => this.store.save(caller.tenant, record);
    const saving = place.conversation === null ? save() : turn.lock.releaseWith(save);
    const confirm = (): void => {
      turn.isUsageStored = usage !== undefined;
      remember();
    };
    if (isPromise(saving)) return Promise.resolve(saving).then(confirm);
    confirm();
    return;
  }

  private usageOf(turn: ActiveTurn, { status, usage }: FinalResponse): UsageRecord | undefined {
    const { provider } = turn.ending;
    return this.usage.of({ ...turn.begun, provider, status, usage, endedAt: this.clock.now() });
  }

  private giveUp(turn: ActiveTurn, { assembler, delivery }: TurnAnswer, error: unknown): FinalResponse {
    const fail = (reason: ResponseErrorBody): FinalResponse => {
      const outcome = this.failures.toFailedOutcome(assembler, reason);
      const response = assembler.conclude(outcome, this.clock.nowInSeconds());
      turn.ended(response);
      return response;
    };
    if (delivery.isStream) return fail(this.failures.toSaveError(error, turn.admitted));
    const refusal = this.failures.toSaveRefusal(error, turn.admitted);
    fail({ code: 'server_error', message: refusal.message });
    throw refusal;
  }
}

/** A response to store. What not every store needs is computed on access. */
class TurnToSave implements ResponseRecord {
  readonly response: ResponseRecord['response'];
  readonly input: ResponseRecord['input'];
  readonly given: ResponseRecord['given'];
  readonly parentId: ResponseRecord['parentId'];
  readonly origin: ResponseRecord['origin'];
  readonly conversation: ResponseRecord['conversation'];
  readonly sessionId: string;
  readonly sessionLimit: ResponseRecord['sessionLimit'];
  readonly fence: ResponseRecord['fence'];
  readonly expiresAt: number;
  readonly usage: ResponseRecord['usage'];

  constructor(
    private readonly resolved: ResolvedTurn,
    private readonly parameters: RequestParameters,
    saved: Omit<ResponseRecord, 'settingsBytes' | 'input' | 'parentId' | 'inherited' | 'sessionId'>,
  ) {
    this.response = saved.response;
    this.input = resolved.input;
    this.given = saved.given;
    this.parentId = resolved.conversation === null ? (resolved.parent?.responseId ?? null) : null;
    this.origin = saved.origin;
    this.conversation = saved.conversation;
    this.sessionId = resolved.sessionId;
    this.sessionLimit = saved.sessionLimit;
    this.fence = saved.fence;
    this.expiresAt = saved.expiresAt;
    this.usage = saved.usage;
  }

  /** A database measures the size itself. */
  get settingsBytes(): number {
    return OTHER_MEMBERS_BYTES + estimateBytes(this.parameters);
  }

  /** A store that has the parent does not need it. */
  get inherited(): ResponseRecord['inherited'] {
    const { conversation, parent } = this.resolved;
    return conversation === null ? (parent?.transcript.items ?? []) : [];
  }
}

/**
 * A response that has failed, or is not stored, is not appended to its conversation: nothing of it needs the lock. Nor is a trigger,
 * which could not be added to a conversation either.
 */
function placeOf(
  { lock, admitted }: ActiveTurn,
  { conversation, input }: ResolvedTurn,
  { status }: FinalResponse,
): Pick<ResponseRecord, 'conversation' | 'fence'> {
  if (conversation === null) return { conversation, fence: lock.fence };
  const isAppended = status !== 'failed' && admitted.settings.store;
  if (!isAppended) return { conversation: null, fence: null };
  const last = input.at(-1);
  const omits = last !== undefined && isCompactionTrigger(last) ? last.id : undefined;
  return { conversation: omits === undefined ? conversation : { ...conversation, omits }, fence: lock.fence };
}
