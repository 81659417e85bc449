import { Inject, Injectable, Optional } from '@nestjs/common';

import type { Caller, Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { EmbeddingsService } from '../../resources/embeddings/index.js';
import { FilesService } from '../index.js';
import { ApiError, withOutputText } from '../../protocol/index.js';
import { ActiveTurn, ResponsesService } from '../../responses/index.js';
import {
  type Attributes,
  type ChunkHit,
  type FileRecord,
  isUnfound,
  type StoreFile,
  type VectorStoreRecord,
} from '../../state/index.js';
import { Clock } from '../../time/index.js';
import type { AttributeFilter } from './attribute-filter.js';
import { embedAsUnits, searchHybrid } from './hybrid-search.js';
import { VectorLibrary } from './vector-library.js';
import { VectorObserver, type VectorSearchRecord } from './vector-observer.js';
import { VectorStoresService } from './vector-stores.service.js';

/** What to search for, and how. */
export interface VectorQuestion {
  readonly storeIds: readonly string[];
  readonly queries: readonly string[];
  /** Absent: all files. */
  readonly filter?: AttributeFilter;
  /** Most results. */
  readonly limit: number;
  readonly ranker: 'auto' | 'none';
  /** The lowest score of a result, from 0 to 1. */
  readonly scoreThreshold: number;
  /** What vectors and words count. */
  readonly weights?: { readonly vectors: number; readonly words: number };
}

/** A chunk of a file that a search has found. */
export interface FoundChunk {
  readonly storeId: string;
  readonly fileId: string;
  readonly filename: string;
  readonly attributes: Attributes;
  readonly text: string;
  /** From 0 to 1, higher is better. */
  readonly score: number;
}

/** Ranks what a search has found once more. Implement it for a model that reads question and text together. */
export abstract class Reranker {
  /** Scores of texts for a question, from 0 to 1, in their order. Rejects with the reason of the signal, or any error: then the search fails. */
  abstract rank(question: string, texts: readonly string[], options: RerankOptions): Promise<readonly number[]>;
}

/** For whom, and until when, is searched. */
export interface SearchOptions {
  /** Whose model limits and quotas hold. */
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** For whom, and until when, texts are ranked. */
export interface RerankOptions {
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
}

/** Candidates that a reranker reads for each result that is wanted. */
const CANDIDATES_PER_RESULT = 4;

/** A store counts as used this long after its last use was written, seconds. */
const USED_SECONDS = 60;

const REWRITE =
  'Turn the question of the user into a short query for a search in documents: the words that an answer would have. Write the query alone.';
const LONGEST_QUERY = 2000;
const QUERY_TOKENS = 200;

/** Searches of vector stores. */
@Injectable()
export class VectorSearch {
  constructor(
    private readonly library: VectorLibrary,
    private readonly stores: VectorStoresService,
    private readonly files: FilesService,
    private readonly embeddings: EmbeddingsService,
    private readonly responses: ResponsesService,
    private readonly clock: Clock,
    private readonly environment: Environment,
    @Optional() @Inject(Reranker) private readonly reranker: Reranker | null = null,
    @Optional() @Inject(VectorObserver) private readonly observer: VectorObserver | null = null,
  ) {}

  /**
   * The chunks that fit best, best first; of several queries each chunk has its best score. Throws ApiError: 404 for a store that is not
   * found, 400 `vector_store_expired`, 403 for an embedding model that the caller may not use, and what that model reports. Rejects with the
   * reason of the signal.
   */
  async search(question: VectorQuestion, options: SearchOptions): Promise<readonly FoundChunk[]> {
    const startedAt = this.clock.now();
    let outcome: VectorSearchRecord['outcome'] = 'failed';
    try {
      const found = await this.find(question, options);
      outcome = 'ok';
      return found;
    } catch (error) {
      if (options.signal.aborted) outcome = 'aborted';
      throw error;
    } finally {
      this.observer?.searched({ outcome, durationMs: this.clock.now() - startedAt });
    }
  }

  /**
   * Queries that QUERY_MODEL makes of questions, as turns of the caller that are not stored. Throws ApiError 400 where there is no such model,
   * and what the turns report.
   */
  async rewrite(questions: readonly string[], caller: Caller, signal: AbortSignal): Promise<readonly string[]> {
    const { QUERY_MODEL: model } = this.environment;
    if (model === '') {
      const message = "This server rewrites no queries: 'rewrite_query' needs QUERY_MODEL, which its operator can set.";
      throw ApiError.of('unsupported_value', message, { param: 'rewrite_query' });
    }
    return Promise.all(
      questions.map(async (input) => {
        const request = { model, input, instructions: REWRITE, store: false, max_output_tokens: QUERY_TOKENS };
        const turn = new ActiveTurn(this.responses.admit(request, caller));
        const stop = (): void => turn.stop('disconnect');
        signal.addEventListener('abort', stop, { once: true });
        const ended = await this.responses.execute(turn, null).finally(() => signal.removeEventListener('abort', stop));
        signal.throwIfAborted();
        const text = ended === undefined ? '' : withOutputText(ended.response).output_text.trim();
        return text === '' ? input : text.slice(0, LONGEST_QUERY);
      }),
    );
  }

  private async find(question: VectorQuestion, { caller, signal }: SearchOptions): Promise<readonly FoundChunk[]> {
    const { tenant } = caller;
    const { storeIds, queries, limit, scoreThreshold } = question;
    const stores = await Promise.all([...new Set(storeIds)].map((id) => this.stores.findAlive(tenant, id)));
    // Vectors of different models do not compare.
    const byModel = Map.groupBy(stores, ({ embeddingModel }) => embeddingModel);
    const searches = [...byModel].map(async ([model, ofModel]) => {
      const vectors = await embedAsUnits(this.embeddings, { model, inputs: queries }, caller, signal);
      return searchHybrid(this.library.index, tenant, {
        ...question,
        storeIds: ofModel.map(({ id }) => id),
        sought: vectors.map((vector, index) => ({ text: queries[index] ?? '', vector })),
        limit: this.reranker === null ? limit : limit * CANDIDATES_PER_RESULT,
        scoreThreshold: this.reranker === null ? scoreThreshold : 0,
      });
    });
    const found = (await Promise.all(searches)).flat();
    await this.noteUse(tenant, stores);
    const hits = await this.rerank(question, found, { tenant, signal });
    return this.describe(tenant, hits.toSorted((one, other) => other.score - one.score).slice(0, limit));
  }

  private async rerank(
    { queries, scoreThreshold }: VectorQuestion,
    hits: readonly ChunkHit[],
    options: RerankOptions,
  ): Promise<readonly ChunkHit[]> {
    if (this.reranker === null || hits.length === 0) return hits;
    const scores = await this.reranker.rank(
      queries.join('\n'),
      hits.map(({ text }) => text),
      options,
    );
    return hits
      .map((hit, index) => ({ ...hit, score: Math.min(1, Math.max(0, scores[index] ?? 0)) }))
      .filter(({ score }) => score >= scoreThreshold);
  }

  /** Hits with what is known of their files; those of files that are gone, or that nothing is to be found of, are left out. */
  private async describe(tenant: Tenant, hits: readonly ChunkHit[]): Promise<readonly FoundChunk[]> {
    const records = new Map<string, Promise<FileRecord | undefined>>();
    const entries = new Map<string, Promise<StoreFile | undefined>>();
    for (const { storeId, fileId } of hits) {
      if (!records.has(fileId)) records.set(fileId, this.files.store.get(tenant, fileId));
      const key = `${storeId} ${fileId}`;
      if (!entries.has(key)) entries.set(key, this.library.records.file(tenant, storeId, fileId));
    }
    const found = await Promise.all(
      hits.map(async ({ storeId, fileId, text, score }): Promise<FoundChunk | undefined> => {
        const record = await records.get(fileId);
        const entry = await entries.get(`${storeId} ${fileId}`);
        if (record === undefined || entry === undefined || isUnfound(entry)) return undefined;
        return { storeId, fileId, filename: record.filename, attributes: entry.attributes, text, score };
      }),
    );
    return found.filter((each) => each !== undefined);
  }

  private async noteUse(tenant: Tenant, stores: readonly VectorStoreRecord[]): Promise<void> {
    const now = this.clock.nowInSeconds();
    const stale = stores.filter(({ lastActiveAt }) => now - lastActiveAt >= USED_SECONDS);
    await Promise.all(stale.map(({ id }) => this.library.records.change(tenant, id, { lastActiveAt: now })));
  }
}
