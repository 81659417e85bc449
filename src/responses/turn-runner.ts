import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { IdGenerator, type ResponseErrorBody, type StreamEvent, toUsage } from '../protocol/index.js';
import { type FinishReason, ModelError, type ModelEvent, type Origin } from '../providers/index.js';
import { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { type Outcome, ProviderContractError, ResponseAssembler } from './assembler/index.js';
import { readProvider } from './read-provider.js';
import type { LiveTurn } from './live-turn.js';
import { isDisconnect } from './stop-reason.js';
import { TurnFailures } from './turn-failures.js';
import type { PreparedTurn } from './turn-preparation.js';
import { UsageCounter } from './usage-counter.js';

/** A turn on its way through the runner. */
export interface Run {
  readonly admitted: AdmittedTurn;
  readonly prepared: PreparedTurn;
  readonly assembler: ResponseAssembler;
  readonly live: LiveTurn;
  /** Whether the client sees nothing before the end. */
  readonly silent: boolean;
  /** Takes the headers a provider wants the client to see. */
  readonly onHeaders: (headers: Readonly<Record<string, string>>) => void;
}

/** How a run ended, and where its upstream keeps it. */
export interface FinishedRun {
  readonly outcome: Outcome;
  readonly origin: Origin;
}

/** What is known of a pass while it runs. */
interface Pass {
  readonly run: Run;
  readonly origin: { provider: string; model?: string; upstreamId?: string };
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
    private readonly failures: TurnFailures,
    private readonly usage: UsageCounter,
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
   * Runs the turn up to, but without, its terminal event. Throws what the model refused with before it took the turn, and
   * TurnStoppedError when the client is gone; every later failure is an outcome.
   */
  async *run(run: Run): AsyncGenerator<readonly StreamEvent[], FinishedRun, undefined> {
    if (!run.admitted.generate) return yield* this.warmUp(run);
    const pass: Pass = { run, origin: { provider: run.prepared.providerName } };
    const steps = this.passes(pass);
    try {
      run.assembler.start();
      let step = steps.next();
      await this.acceptance(step, run);
      // The response exists from here on: `created` leaves even if the model is still thinking.
      yield* whatIsReady(run.assembler);
      let outcome = await this.settle(step, run);
      while (outcome === undefined) {
        yield* whatIsReady(run.assembler);
        step = steps.next();
        outcome = await this.settle(step, run);
      }
      yield* whatIsReady(run.assembler);
      return { outcome, origin: pass.origin };
    } finally {
      // Not awaited: a provider that hangs must not hold the end of the turn.
      void steps.return({ status: 'failed', usage: null }).catch(() => undefined);
    }
  }

  /** Prepares a context for later: the model is not asked, its input is counted (protocol §6.4). */
  private async *warmUp({ assembler, prepared, live }: Run): AsyncGenerator<readonly StreamEvent[], FinishedRun> {
    assembler.create();
    const usage = await this.usage.count(prepared, [], live.signal);
    return { outcome: { status: 'completed', usage }, origin: { provider: prepared.providerName } };
  }

  /** How a turn ends that failed: what was open is cut off, and what the model reported so far counts. */
  fail(assembler: ResponseAssembler, error: ResponseErrorBody): Outcome {
    assembler.cutItems();
    return { status: 'failed', usage: assembler.tokens === null ? null : toUsage(assembler.tokens), error };
  }

  /**
   * Waits until the model took the turn with its first step. Throws what the model refused with in that time. Who waits for a
   * stream is told after MODEL_ACCEPT_TIMEOUT_MS that the response exists: what goes wrong later is its failure.
   */
  private async acceptance(firstStep: Promise<unknown>, { silent }: Run): Promise<void> {
    if (silent) await firstStep;
    else await this.clock.within(firstStep, this.environment.MODEL_ACCEPT_TIMEOUT_MS);
  }

  /** Waits for one step of the model; gives how the turn ended once it has. */
  private async settle(step: Promise<IteratorResult<undefined, Outcome>>, run: Run): Promise<Outcome | undefined> {
    try {
      const result = await step;
      return result.done === true ? result.value : undefined;
    } catch (error) {
      if (isDisconnect(error)) throw error;
      return this.fail(run.assembler, this.failures.toResponseError(error, run.admitted));
    }
  }

  /**
   * Each yield means that the assembler may hold new events, the first that the model took the turn. A `finish` ends a
   * pass, and here it is decided what follows: today always the end of the turn. Server-run tools and compaction would
   * push into the same assembler and ask the model again.
   */
  private async *passes(pass: Pass): AsyncGenerator<undefined, Outcome, undefined> {
    const { assembler, prepared, live } = pass.run;
    const outcome = OUTCOME_OF_FINISH[yield* this.ask(pass)];
    assembler.closeItems(outcome.status === 'completed' ? 'completed' : 'incomplete');
    const { tokens } = assembler;
    if (tokens !== null) return { ...outcome, usage: toUsage(tokens) };
    return { ...outcome, usage: await this.usage.count(prepared, assembler.output, live.signal) };
  }

  private async *ask(pass: Pass): AsyncGenerator<undefined, FinishReason, undefined> {
    const { prepared, assembler, live, onHeaders } = pass.run;
    const batches = readProvider(prepared.provider.generate(prepared.turn, { signal: live.signal }), {
      signal: live.signal,
      clock: this.clock,
      idleTimeoutMs: this.environment.MODEL_IDLE_TIMEOUT_MS,
      onIdle: live.timeOut,
    });
    for await (const batch of batches) {
      for (const event of batch) {
        if (event.type === 'finish') return requireFinishReason(event.reason);
        if (event.type === 'metadata') {
          note(pass, event);
          onHeaders(event.headers ?? {});
        } else assembler.push(event);
      }
      yield;
    }
    throw new ModelError('server_error', 'The model ended its answer early. Please retry your request.');
  }
}

function* whatIsReady(assembler: ResponseAssembler): Generator<readonly StreamEvent[], void, undefined> {
  const batch = assembler.take();
  if (batch.length > 0) yield batch;
}

/** Keeps where the answer comes from: the next turn of the conversation may want to go there. */
function note({ origin, run }: Pass, { upstreamId, provider, model }: Extract<ModelEvent, { type: 'metadata' }>): void {
  if (upstreamId !== undefined) origin.upstreamId = upstreamId;
  if (model !== undefined) origin.model = model;
  if (provider === undefined) return;
  origin.provider = provider;
  run.live.chose(provider);
}

function requireFinishReason(reason: FinishReason): FinishReason {
  if (!Object.hasOwn(OUTCOME_OF_FINISH, reason)) throw new ProviderContractError(`there is no finish reason ${reason}`);
  return reason;
}
