import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { IdGenerator, type ResponseErrorBody, toUsage } from '../protocol/index.js';
import { type FinishReason, ModelError, type ModelEvent, type Origin } from '../providers/index.js';
import { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { type Outcome, ProviderContractError, ResponseAssembler } from './assembler/index.js';
import type { Deliver } from './deliver.js';
import type { LiveTurn } from './live-turn.js';
import { ProviderReader } from './provider-reader.js';
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
  readonly deliver: Deliver;
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
  readonly reader: ProviderReader;
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
  async run(run: Run): Promise<FinishedRun> {
    const { admitted, prepared, assembler, live } = run;
    if (!admitted.generate) return this.warmUp(run);
    const pass: Pass = { run, reader: this.ask(run), origin: { provider: prepared.providerName } };
    try {
      assembler.start();
      const firstStep = live.until(this.begin(pass));
      await this.acceptance(firstStep, run);
      // The response exists from here on: `created` leaves even if the model is still thinking.
      await deliverWhatIsReady(run);
      return { outcome: await this.settle(pass, firstStep), origin: pass.origin };
    } finally {
      pass.reader.close();
    }
  }

  /** Prepares a context for later: the model is not asked, its input is counted (protocol §6.4). */
  private async warmUp({ assembler, prepared, live }: Run): Promise<FinishedRun> {
    assembler.create();
    const usage = await live.until(this.usage.count(prepared, []));
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

  /** Waits until the turn has ended; what fails now is its outcome. */
  private async settle(pass: Pass, firstStep: Promise<Outcome | undefined>): Promise<Outcome> {
    const { run } = pass;
    let outcome: Outcome;
    try {
      outcome = (await firstStep) ?? (await run.live.until(this.goOn(pass)));
    } catch (error) {
      if (isDisconnect(error)) throw error;
      outcome = this.fail(run.assembler, this.failures.toResponseError(error, run.admitted));
    }
    await deliverWhatIsReady(run);
    return outcome;
  }

  private async goOn(pass: Pass): Promise<Outcome> {
    for (;;) {
      // Clients are rarely behind: no promise where there is nothing to wait for.
      const catchingUp = deliverWhatIsReady(pass.run);
      if (catchingUp !== undefined) await catchingUp;
      const reason = take(pass, await pass.reader.next());
      if (reason !== undefined) return this.end(pass.run, reason);
    }
  }

  private async begin(pass: Pass): Promise<Outcome | undefined> {
    const reason = take(pass, await pass.reader.next());
    return reason === undefined ? undefined : this.end(pass.run, reason);
  }

  /**
   * A `finish` ends a pass, and here it is decided what follows: today always the end of the turn. Server-run tools and
   * compaction would push into the same assembler and ask the model again.
   */
  private async end({ assembler, prepared }: Run, reason: FinishReason): Promise<Outcome> {
    const outcome = OUTCOME_OF_FINISH[reason];
    assembler.closeItems(outcome.status === 'completed' ? 'completed' : 'incomplete');
    const { tokens } = assembler;
    if (tokens !== null) return { ...outcome, usage: toUsage(tokens) };
    return { ...outcome, usage: await this.usage.count(prepared, assembler.output) };
  }

  private ask({ prepared, live }: Run): ProviderReader {
    const stream = prepared.provider.generate(prepared.turn, { signal: live.signal });
    return new ProviderReader(stream, live, this.clock, this.environment.MODEL_IDLE_TIMEOUT_MS);
  }
}

/** Hands over the events that were written; a promise where the client has to catch up before more may come. */
function deliverWhatIsReady({ assembler, deliver }: Run): Promise<void> | undefined {
  const batch = assembler.take();
  return batch.length > 0 ? deliver(batch) : undefined;
}

/**
 * Writes a batch into the response, up to the `finish` that ends the pass. Throws ProviderContractError, and ModelError where the
 * stream has ended without a `finish`.
 */
function take(pass: Pass, batch: readonly ModelEvent[] | null): FinishReason | undefined {
  const { assembler, onHeaders } = pass.run;
  if (batch === null) throw ModelError.endedEarly();
  for (const event of batch) {
    if (event.type === 'finish') return requireFinishReason(event.reason);
    if (event.type === 'metadata') {
      note(pass, event);
      onHeaders(event.headers ?? {});
    } else assembler.push(event);
  }
  return undefined;
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
