import { Inject, Injectable, Optional } from '@nestjs/common';

import type { Caller } from '../../access/index.js';
import { ApiError, IdGenerator } from '../../protocol/index.js';
import {
  cannotEmbed,
  type EmbeddingInput,
  type EmbeddingRequest,
  type Embeddings,
  ModelError,
  type ModelProviderBase,
  ProviderRegistry,
  requireModel,
} from '../../providers/index.js';
import { Admission } from '../../responses/index.js';
import { Clock } from '../../time/index.js';
import { UsageRecorder } from '../usage/index.js';

/** Requests to an upstream at once, for one question. */
const PARALLEL = 4;

/** Characters of text for one token, on average. */
const CHARACTERS_PER_TOKEN = 4;

/** What to embed, with any number of inputs. */
export type EmbeddingQuestion = EmbeddingRequest;

/** A request for embeddings that is over. */
export interface EmbeddingRecord {
  readonly model: string;
  readonly provider: string;
  /** `ok`, `disconnected` where the client has left, or `failed`. */
  readonly outcome: 'ok' | 'disconnected' | 'failed';
  readonly inputs: number;
  /** Tokens of the inputs that were embedded. */
  readonly tokens: number;
  readonly durationMs: number;
}

/** Is told of every request for embeddings when it is over; for metrics. */
export abstract class EmbeddingObserver {
  abstract ended(record: EmbeddingRecord): void;
}

/** Vectors, and headers for the client, such as `x-ratelimit-remaining-tokens`. */
export interface EmbeddingAnswer extends Embeddings {
  readonly headers: Readonly<Record<string, string>>;
}

/** Asks providers for vectors, in batches, and counts what was used. */
@Injectable()
export class EmbeddingsService {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly admission: Admission,
    private readonly usage: UsageRecorder,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
    @Optional() @Inject(EmbeddingObserver) private readonly observer: EmbeddingObserver | null = null,
  ) {}

  /**
   * The vectors of all inputs. Throws ApiError: 400 and 404 for a model that gives none or does not exist, 403 for one that the caller may
   * not use, 429 for its limits, and what the upstream reports.
   */
  async embed(question: EmbeddingQuestion, caller: Caller, signal: AbortSignal): Promise<EmbeddingAnswer> {
    const { model, inputs } = question;
    requireModel(caller, model);
    const { provider, providerName } = this.providers.embedder(model, caller);
    const estimate = estimateTokens(inputs);
    const headers = await this.admission.embed?.({ caller, model, inputTokens: estimate });
    const startedAt = this.clock.now();
    const work = new Batches(provider, question, signal);
    let outcome: EmbeddingRecord['outcome'] = 'failed';
    try {
      const vectors = await work.run();
      outcome = 'ok';
      // Not every server counts.
      const tokens = work.tokens === 0 ? estimate : work.tokens;
      work.tokens = tokens;
      return { vectors, tokens, headers: headers ?? {} };
    } catch (error) {
      if (signal.aborted) {
        outcome = 'disconnected';
        throw ApiError.retryLater('The client disconnected.');
      }
      throw error instanceof ModelError ? error.toApiError() : error;
    } finally {
      const { tokens } = work;
      const now = this.clock.now();
      const about = { model, provider: providerName, tokens };
      this.observer?.ended({ ...about, outcome, inputs: inputs.length, durationMs: now - startedAt });
      if (tokens > 0) this.record(caller, { ...about, outcome, endedAt: now });
    }
  }

  private record(
    caller: Caller,
    used: Pick<EmbeddingRecord, 'model' | 'provider' | 'tokens' | 'outcome'> & { readonly endedAt: number },
  ): void {
    this.usage.add({
      responseId: this.ids.next('embd'),
      tenant: caller.tenant,
      keyId: caller.keyId ?? null,
      model: used.model,
      provider: used.provider,
      transport: 'json',
      background: false,
      status: used.outcome === 'ok' ? 'completed' : used.outcome,
      endedAt: used.endedAt,
      tokens: { input: used.tokens, cached: 0, output: 0, reasoning: 0 },
    });
  }
}

/** The batches of one question; the first that fails ends the others. */
class Batches {
  /** Of the batches that were answered. */
  tokens = 0;
  private readonly failed = new AbortController();
  private readonly vectors: Float32Array[] = [];
  private next = 0;

  constructor(
    private readonly provider: ModelProviderBase,
    private readonly question: EmbeddingQuestion,
    private readonly signal: AbortSignal,
  ) {}

  /** The vectors of all inputs. Rejects with what the provider throws. */
  async run(): Promise<readonly Float32Array[]> {
    const { provider, question } = this;
    if (provider.embed === undefined) throw cannotEmbed(question.model);
    const signal = AbortSignal.any([this.signal, this.failed.signal]);
    const lanes = Math.min(PARALLEL, Math.ceil(question.inputs.length / provider.embeddingBatch));
    const runs = Array.from({ length: lanes }, () => this.runLane(signal));
    try {
      await Promise.all(runs);
    } catch (error) {
      this.failed.abort();
      await Promise.allSettled(runs);
      throw error;
    }
    const [first] = this.vectors;
    // Two servers of a model, or two versions of one, may differ.
    if (this.vectors.some(({ length }) => length !== first?.length)) {
      throw new ModelError('server_error', 'The model gave vectors of different lengths. Please retry your request.', {
        status: 502,
      });
    }
    return this.vectors;
  }

  private async runLane(signal: AbortSignal): Promise<void> {
    const { provider, question } = this;
    while (this.next < question.inputs.length) {
      signal.throwIfAborted();
      const from = this.next;
      this.next += provider.embeddingBatch;
      const inputs = question.inputs.slice(from, this.next);
      const answer = await provider.embed?.({ ...question, inputs }, { signal });
      if (answer?.vectors.length !== inputs.length) throw new Error('a provider gave too few vectors');
      if (!answer.vectors.every(isUsable))
        throw new Error('a provider gave a vector without numbers, or with one that is not finite');
      this.tokens += answer.tokens;
      for (const [index, vector] of answer.vectors.entries()) this.vectors[from + index] = vector;
    }
  }
}

/** A vector that can be compared with others. */
function isUsable(vector: Float32Array): boolean {
  return vector.length > 0 && vector.every(Number.isFinite);
}

function estimateTokens(inputs: readonly EmbeddingInput[]): number {
  let tokens = 0;
  for (const input of inputs) {
    tokens += typeof input === 'string' ? Math.ceil(input.length / CHARACTERS_PER_TOKEN) : input.length;
  }
  return tokens;
}
