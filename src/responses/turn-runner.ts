import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { IdGenerator, type ResponseErrorBody, toUsage, type Usage } from '../protocol/index.js';
import { type FinishReason, ModelError } from '../providers/index.js';
import { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { type Outcome, ProviderContractError, ResponseAssembler } from './assembler/index.js';
import { readProvider } from './read-provider.js';
import type { LiveTurn } from './turn-lifecycle.js';
import type { PreparedTurn } from './turn-preparation.js';

/** A turn on its way through the runner. */
export interface Run {
  readonly prepared: PreparedTurn;
  readonly assembler: ResponseAssembler;
  readonly live: Pick<LiveTurn, 'signal' | 'timeOut'>;
  /** Takes the headers a provider wants the client to see. */
  readonly onHeaders: (headers: Readonly<Record<string, string>>) => void;
}

const OUTCOME_OF_FINISH: Readonly<Record<FinishReason, Omit<Outcome, 'usage'>>> = {
  stop: { status: 'completed' },
  length: { status: 'incomplete', incompleteReason: 'max_output_tokens' },
  content_filter: { status: 'incomplete', incompleteReason: 'content_filter' },
};

/** Stands between the service and the provider: asks the model, pass by pass, and says how the turn ended. */
@Injectable()
export class TurnRunner {
  constructor(
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
  ) {}

  /** The assembler of a turn's response. A silent one writes only the terminal event. */
  assemble(turn: AdmittedTurn, silent: boolean): ResponseAssembler {
    const { responseId: id, createdAt, requestedTier, settings } = turn;
    const maxOutputCharacters = this.environment.MAX_OUTPUT_CHARACTERS;
    return new ResponseAssembler({
      id,
      createdAt,
      requestedTier,
      settings,
      silent,
      maxOutputCharacters,
      ids: this.ids,
    });
  }

  /**
   * Runs the turn; each yield means that the assembler may hold new events, the first that the model took the turn. A
   * `finish` ends a pass, and here it is decided what follows: today always the end of the turn. Server-run tools and
   * compaction would push into the same assembler and ask the model again.
   */
  async *run(run: Run): AsyncGenerator<undefined, Outcome, undefined> {
    const finish = yield* this.pass(run);
    const outcome = OUTCOME_OF_FINISH[finish];
    run.assembler.closeItems(outcome.status === 'completed' ? 'completed' : 'incomplete');
    return { ...outcome, usage: await this.usageOf(run) };
  }

  /**
   * Waits until the model took the turn with its first step, but no longer than MODEL_ACCEPT_TIMEOUT_MS. Throws what the
   * model refused with in that time; what goes wrong later is the response's failure.
   */
  async acceptance(firstStep: Promise<unknown>): Promise<void> {
    const waited = new AbortController();
    try {
      await Promise.race([firstStep, this.clock.sleep(this.environment.MODEL_ACCEPT_TIMEOUT_MS, waited.signal)]);
    } finally {
      waited.abort();
    }
  }

  /** How a turn ends that failed: what was open is cut off, and what the model reported so far counts. */
  fail(assembler: ResponseAssembler, error: ResponseErrorBody): Outcome {
    assembler.closeItems('incomplete');
    return { status: 'failed', usage: assembler.tokens === null ? null : toUsage(assembler.tokens), error };
  }

  private async *pass({
    prepared,
    assembler,
    live,
    onHeaders,
  }: Run): AsyncGenerator<undefined, FinishReason, undefined> {
    const batches = readProvider(prepared.provider.generate(prepared.turn, { signal: live.signal }), {
      signal: live.signal,
      clock: this.clock,
      idleTimeoutMs: this.environment.MODEL_IDLE_TIMEOUT_MS,
      onIdle: live.timeOut,
    });
    for await (const batch of batches) {
      for (const event of batch) {
        if (event.type === 'finish') return requireFinishReason(event.reason);
        if (event.type === 'metadata') onHeaders(event.headers);
        else assembler.push(event);
      }
      yield;
    }
    throw new ModelError('server_error', 'The model ended its answer early. Please retry your request.');
  }

  /** What the model reported, or else our own count. */
  private async usageOf({ prepared: { provider, turn }, assembler }: Run): Promise<Usage> {
    if (assembler.tokens !== null) return toUsage(assembler.tokens);
    const input = await provider.countTokens(turn);
    return toUsage({ input, output: await provider.countOutputTokens(assembler.output) });
  }
}

function requireFinishReason(reason: FinishReason): FinishReason {
  if (!Object.hasOwn(OUTCOME_OF_FINISH, reason)) throw new ProviderContractError(`there is no finish reason ${reason}`);
  return reason;
}
