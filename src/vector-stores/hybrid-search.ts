import type { Tenant } from '../access/index.js';
import type { ChunkHit, ChunkQuery, VectorIndex } from '../state/index.js';
import { type AttributeFilter, passes } from './attribute-filter.js';

/** How far down a list a chunk still counts nearly as much as at its top; 60 is what reciprocal rank fusion is known with. */
const RANK_OFFSET = 60;

/** Hits of each kind that are fused: for each one that is wanted, and at least. */
const CANDIDATES_PER_HIT = 4;
const LEAST_CANDIDATES = 50;

const EQUAL_WEIGHTS = { vectors: 1, words: 1 };

/** What to look for, and where. */
export interface HybridQuery {
  readonly storeIds: readonly string[];
  readonly text: string;
  /** Of the text, of length 1. */
  readonly vector: Float32Array;
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
 * Finds chunks by vectors and words, best first. Scores are from 0 to 1: cosines with the ranker `none`, else what the ranks add up to, which
 * is 1 for a chunk that is first by both. Throws StoreUnavailableError.
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
  const ranked = await (query.ranker === 'none' ? rankByCosine : rankByBoth)(index, tenant, query, where);
  return ranked.filter(({ score }) => score >= scoreThreshold).slice(0, limit);
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
  { vector, limit }: HybridQuery,
  where: Where,
): Promise<readonly ChunkHit[]> {
  const hits = await index.nearest(tenant, vector, { ...where, limit });
  // Rounding may lead beyond 1; opposite directions are as unlike as it gets.
  return hits.map((hit) => ({ ...hit, score: Math.min(1, Math.max(0, hit.score)) }));
}

async function rankByBoth(
  index: VectorIndex,
  tenant: Tenant,
  { vector, text, limit, weights = EQUAL_WEIGHTS }: HybridQuery,
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
      const key = `${hit.document} ${hit.position}`;
      const before = fused.get(key)?.score ?? 0;
      const share = total === 0 ? 0 : weight / total;
      fused.set(key, { ...hit, score: before + (share * (RANK_OFFSET + 1)) / (RANK_OFFSET + 1 + rank) });
    }
  }
  return [...fused.values()].sort((one, other) => other.score - one.score);
}

/** A vector of length 1: not all models give such. */
export function toUnit(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const each of vector) sum += each * each;
  const length = Math.sqrt(sum);
  return length === 0 || Math.abs(length - 1) < 1e-6 ? vector : vector.map((each) => each / length);
}
