import type { Caller, Tenant } from '../../access/index.js';
import type { EmbeddingQuestion, EmbeddingsService } from '../../resources/embeddings/index.js';
import type { ChunkHit, ChunkQuery, VectorIndex } from '../../state/index.js';
import { type AttributeFilter, passes } from './attribute-filter.js';

/** How far down a list a chunk still counts nearly as much as at its top; 60 is what reciprocal rank fusion is known with. */
const RANK_OFFSET = 60;

/** Hits of each kind that are fused: for each one that is wanted, and at least. */
const CANDIDATES_PER_HIT = 4;
const LEAST_CANDIDATES = 50;

const EQUAL_WEIGHTS = { vectors: 1, words: 1 };

/** A text to look for. */
interface SoughtText {
  readonly text: string;
  /** Of the text, of length 1. */
  readonly vector: Float32Array;
}

/** What to look for, and where. */
export interface HybridQuery {
  readonly storeIds: readonly string[];
  readonly sought: readonly SoughtText[];
  /** Absent: all files. */
  readonly filter?: AttributeFilter;
  /** Most hits. */
  readonly limit: number;
  /** `auto` fuses the ranks by vectors and by words; with `none` the cosine decides alone. */
  readonly ranker: 'auto' | 'none';
  /** The lowest score of a hit, from 0 to 1. */
  readonly scoreThreshold?: number;
  /** What the rank by each counts, with `auto`. */
  readonly weights?: { readonly vectors: number; readonly words: number };
}

/**
 * Finds chunks by vectors and words, best first; of several texts each chunk has its best score. Scores are from 0 to 1: cosines with the
 * ranker `none`, else what the ranks add up to, which is 1 for a chunk that is first by both. Throws StoreUnavailableError.
 */
export async function searchHybrid(
  index: VectorIndex,
  tenant: Tenant,
  query: HybridQuery,
): Promise<readonly ChunkHit[]> {
  const { storeIds, filter, limit, scoreThreshold = 0 } = query;
  const documents = filter === undefined ? undefined : await findDocuments(index, tenant, storeIds, filter);
  if (documents?.length === 0) return [];
  const where = { storeIds, ...(documents === undefined ? {} : { documents }) };
  const rank = query.ranker === 'none' ? rankByCosine : rankByBoth;
  const ranked = await Promise.all(query.sought.map((sought) => rank(index, tenant, sought, query, where)));
  return newestOf(bestOf(ranked.flat()))
    .filter(({ score }) => score >= scoreThreshold)
    .slice(0, limit);
}

/** Each chunk once, with its best score, best first. */
function bestOf(hits: readonly ChunkHit[]): readonly ChunkHit[] {
  const best = new Map<string, ChunkHit>();
  for (const hit of hits) {
    const key = keyOf(hit);
    if ((best.get(key)?.score ?? -1) < hit.score) best.set(key, hit);
  }
  return [...best.values()].sort((one, other) => other.score - one.score);
}

/** Without chunks of a document that was replaced between the parts of a search. */
function newestOf(hits: readonly ChunkHit[]): readonly ChunkHit[] {
  const newest = new Map<string, number>();
  const nameOf = ({ storeId, fileId }: ChunkHit): string => `${storeId} ${fileId}`;
  for (const hit of hits) newest.set(nameOf(hit), Math.max(newest.get(nameOf(hit)) ?? 0, hit.document));
  return hits.filter((hit) => newest.get(nameOf(hit)) === hit.document);
}

function keyOf({ document, position }: ChunkHit): string {
  return `${document} ${position}`;
}

type Where = Omit<ChunkQuery, 'limit'>;

/** The numbers of the documents that pass a filter: few beside their chunks, so no backend has to know filters. */
async function findDocuments(
  index: VectorIndex,
  tenant: Tenant,
  storeIds: readonly string[],
  filter: AttributeFilter,
): Promise<readonly number[]> {
  const all = await index.documents(tenant, storeIds);
  return all.filter(({ attributes }) => passes(attributes, filter)).map(({ document }) => document);
}

async function rankByCosine(
  index: VectorIndex,
  tenant: Tenant,
  { vector }: SoughtText,
  { limit }: HybridQuery,
  where: Where,
): Promise<readonly ChunkHit[]> {
  const hits = await index.nearest(tenant, vector, { ...where, limit });
  // Rounding may lead beyond 1; opposite directions are as unlike as it gets.
  return hits.map((hit) => ({ ...hit, score: Math.min(1, Math.max(0, hit.score)) }));
}

async function rankByBoth(
  index: VectorIndex,
  tenant: Tenant,
  { vector, text }: SoughtText,
  { limit, weights = EQUAL_WEIGHTS }: HybridQuery,
  where: Where,
): Promise<readonly ChunkHit[]> {
  const query = { ...where, limit: Math.max(LEAST_CANDIDATES, limit * CANDIDATES_PER_HIT) };
  const [near, matching] = await Promise.all([
    index.nearest(tenant, vector, query),
    index.matching(tenant, text, query),
  ]);
  return fuseRanks([
    [near, weights.vectors],
    [matching, weights.words],
  ]);
}

/** Reciprocal rank fusion of lists, each with its weight. A chunk that is first in all of them has the score 1. */
function fuseRanks(lists: readonly (readonly [hits: readonly ChunkHit[], weight: number])[]): readonly ChunkHit[] {
  const total = lists.reduce((sum, [, weight]) => sum + weight, 0);
  const fused = new Map<string, ChunkHit>();
  for (const [hits, weight] of lists) {
    for (const [rank, hit] of hits.entries()) {
      const key = keyOf(hit);
      const before = fused.get(key)?.score ?? 0;
      fused.set(key, { ...hit, score: before + ((weight / total) * (RANK_OFFSET + 1)) / (RANK_OFFSET + 1 + rank) });
    }
  }
  return [...fused.values()];
}

/** Vectors of length 1: not all models give such. Throws as `EmbeddingsService.embed`. */
export async function embedAsUnits(
  embeddings: EmbeddingsService,
  question: EmbeddingQuestion,
  caller: Caller,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const { vectors } = await embeddings.embed(question, caller, signal);
  return vectors.map(toUnit);
}

function toUnit(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const each of vector) sum += each * each;
  const length = Math.sqrt(sum);
  return length === 0 || Math.abs(length - 1) < 1e-6 ? vector : vector.map((each) => each / length);
}
