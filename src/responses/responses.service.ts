import { Injectable, Logger } from '@nestjs/common';

import type { Caller } from '../access/index.js';
import {
  ApiError,
  type CreateResponseRequest,
  IdGenerator,
  type ResponseObject,
  type StreamEvent,
} from '../protocol/index.js';
import { ResponseStore } from '../state/index.js';
import { Clock } from '../time/index.js';
import { admitTurn } from './admit-turn.js';
import type { AdmittedTurn } from './admitted-turn.js';
import type { Outcome, ResponseAssembler } from './assembler/index.js';
import { TurnStoppedError } from './stop-reason.js';
import { isExpected, toRefusal, toResponseError } from './turn-failure.js';
import { type LiveTurn, TurnLifecycle } from './turn-lifecycle.js';
import { type PreparedTurn, TurnPreparation } from './turn-preparation.js';
import { TurnRunner } from './turn-runner.js';

/** What a transport gives along with a turn. */
export interface TurnControl {
  /** Aborts when the client is gone: the model is stopped at once and nothing is stored. */
  readonly signal: AbortSignal;
  /** Takes headers for the client; they come before the first batch or not at all. */
  readonly onHeaders?: (headers: Readonly<Record<string, string>>) => void;
}

/**
 * The one road of a turn, for every transport: admit, then execute (resolve the context, run the model, assemble, save,
 * and only then the terminal event).
 */
@Injectable()
export class ResponsesService {
  private readonly logger = new Logger(ResponsesService.name);

  constructor(
    private readonly preparation: TurnPreparation,
    private readonly lifecycle: TurnLifecycle,
    private readonly runner: TurnRunner,
    private readonly store: ResponseStore,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
  ) {}

  /** Makes a turn of a validated request. The turn is plain data: it may be executed later, or elsewhere. */
  admit(request: CreateResponseRequest, caller: Caller): AdmittedTurn {
    return admitTurn(request, caller, this.ids, this.clock);
  }

  /**
   * Runs a turn as batches of events in the order of protocol §4, the last of which holds the one terminal event. Throws
   * ApiError for what is refused before `response.created`, and nothing after it. Ends without a terminal event only when
   * the client is gone.
   */
  execute(turn: AdmittedTurn, control: TurnControl): AsyncGenerator<readonly StreamEvent[], void, undefined> {
    return this.travel(turn, control, false);
  }

  /**
   * Runs a turn for a transport that wants only the Response; undefined when the client is gone. Throws ApiError for what
   * is refused before the turn began, and 503 when the finished response cannot be saved.
   */
  async complete(turn: AdmittedTurn, control: TurnControl): Promise<ResponseObject | undefined> {
    for await (const batch of this.travel(turn, control, true)) {
      const response = batch.at(-1)?.response ?? null;
      if (response !== null) return response;
    }
    return undefined;
  }

  private async *travel(
    turn: AdmittedTurn,
    control: TurnControl,
    silent: boolean,
  ): AsyncGenerator<readonly StreamEvent[], void, undefined> {
    const live = await this.lifecycle.begin(turn, control.signal);
    try {
      const prepared = await this.preparation.prepare(turn);
      live.chose(prepared.providerName);
      yield* this.generate(turn, prepared, live, control, silent);
    } catch (error) {
      if (isDisconnect(error)) return;
      const refusal = toRefusal(error, turn.caller.requestId);
      this.report(turn, error);
      live.refused(refusal.code);
      throw refusal;
    } finally {
      live.settle();
    }
  }

  private async *generate(
    turn: AdmittedTurn,
    prepared: PreparedTurn,
    live: LiveTurn,
    control: TurnControl,
    silent: boolean,
  ): AsyncGenerator<readonly StreamEvent[], void, undefined> {
    const assembler = this.runner.assemble(turn, silent);
    const steps = this.runner.run({ prepared, assembler, live, onHeaders: (headers) => control.onHeaders?.(headers) });
    try {
      assembler.start();
      const first = steps.next();
      await this.runner.acceptance(first);
      // The response exists from here on: `created` leaves even if the model is still thinking.
      yield* unlessEmpty(assembler.take());
      let outcome = await this.advance(first, turn, assembler);
      while (outcome === undefined) {
        yield* unlessEmpty(assembler.take());
        outcome = await this.advance(steps.next(), turn, assembler);
      }
      yield* unlessEmpty(assembler.take());
      await this.conclude(turn, prepared, assembler, outcome, live, silent);
      yield assembler.take();
    } finally {
      // Not awaited: a provider that hangs must not hold the end of the turn.
      void steps.return({ status: 'failed', usage: null }).catch(() => undefined);
    }
  }

  /** Waits for one step of the model; gives how the turn ended once it has. */
  private async advance(
    step: Promise<IteratorResult<undefined, Outcome>>,
    turn: AdmittedTurn,
    assembler: ResponseAssembler,
  ): Promise<Outcome | undefined> {
    try {
      const result = await step;
      return result.done === true ? result.value : undefined;
    } catch (error) {
      if (isDisconnect(error)) throw error;
      this.report(turn, error);
      return this.runner.fail(assembler, toResponseError(error, turn.caller.requestId));
    }
  }

  /** Saves, then writes the terminal event: whoever reads it can continue from it on any replica. */
  private async conclude(
    turn: AdmittedTurn,
    prepared: PreparedTurn,
    assembler: ResponseAssembler,
    outcome: Outcome,
    live: LiveTurn,
    silent: boolean,
  ): Promise<void> {
    if (isDisconnect(live.signal.reason)) throw live.signal.reason;
    let response = assembler.conclude(outcome, this.clock.nowInSeconds());
    try {
      await this.save(turn, prepared, response);
    } catch (error) {
      this.logger.error(`${turn.responseId} could not be saved (request ${turn.caller.requestId})`, error);
      const message = 'The response could not be saved. Please retry your request.';
      if (silent) throw ApiError.of('service_unavailable', message, { headers: { 'retry-after': '1' } });
      const failed = this.runner.fail(assembler, { code: 'server_error', message });
      response = assembler.conclude(failed, this.clock.nowInSeconds());
    }
    live.ended(response.status, response.usage, response.error?.code ?? null);
    assembler.terminate(response);
  }

  private async save(turn: AdmittedTurn, prepared: PreparedTurn, response: ResponseObject): Promise<void> {
    if (!turn.settings.store) return;
    const origin = { provider: prepared.providerName };
    await this.store.save(turn.caller.owner, { response, input: turn.input, parent: prepared.chain, origin });
  }

  private report(turn: AdmittedTurn, error: unknown): void {
    if (isExpected(error)) return;
    this.logger.error(`${turn.responseId} failed (request ${turn.caller.requestId})`, error);
  }
}

function* unlessEmpty(batch: readonly StreamEvent[]): Generator<readonly StreamEvent[], void, undefined> {
  if (batch.length > 0) yield batch;
}

function isDisconnect(error: unknown): boolean {
  return error instanceof TurnStoppedError && error.reason === 'disconnect';
}
