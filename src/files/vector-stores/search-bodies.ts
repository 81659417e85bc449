import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';

import {
  anyString,
  Closed,
  described,
  listOf,
  nested,
  Satisfies,
  schemaOf,
  stringOr,
  validatorOf,
  Violation,
} from '../../validation/index.js';
import { type AttributeFilter, attributeFilter } from './attribute-filter.js';
import type { VectorQuestion } from './vector-search.js';
import { ABSENT } from './vector-store-bodies.js';

/** Most texts of one search. */
const MOST_QUERIES = 20;

/** Most results of a search. */
const MOST_RESULTS = 50;

/** What ranks the results of a search; the dated name is that of the first. */
const RANKERS = ['auto', 'default-2024-11-15', 'none'] as const;

/** How much vectors and words count. */
@Closed()
class HybridWeights {
  @IsNumber()
  @Min(0)
  readonly embedding_weight!: number;

  @IsNumber()
  @Min(0)
  readonly text_weight!: number;
}

const wordsOfZero = (path: string): string =>
  `Invalid '${path}': both weights are 0. Expected 'embedding_weight', 'text_weight' or both to be greater than 0.`;

const anyWeights = nested(HybridWeights);

/** One of them has to count. */
const weights = described(
  (value, options) => {
    const violation = anyWeights(value, options);
    if (violation !== null) return violation;
    const { embedding_weight: vectors, text_weight: words } = value as HybridWeights;
    return vectors + words > 0 ? null : new Violation('invalid_value', wordsOfZero);
  },
  (definitions) => schemaOf(anyWeights, definitions),
);

/** How results are ranked. */
@Closed()
class RankingOptions {
  @IsOptional()
  @IsIn(RANKERS)
  readonly ranker?: (typeof RANKERS)[number] | null;

  /** The lowest score of a result. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  readonly score_threshold?: number | null;

  @IsOptional()
  @Satisfies(weights)
  readonly hybrid_search?: HybridWeights | null;
}

const queries = stringOr({
  kind: 'array',
  check: listOf(anyString, 'an array of strings', { least: 1, most: MOST_QUERIES }),
  expected: 'one of a string or an array of strings',
});

/** How a search, or the tool that searches, is asked to filter and rank. */
@Closed()
export class SearchSettings {
  @IsOptional()
  @Satisfies(attributeFilter)
  readonly filters?: AttributeFilter | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MOST_RESULTS)
  readonly max_num_results?: number | null;

  @IsOptional()
  @Satisfies(nested(RankingOptions))
  readonly ranking_options?: RankingOptions | null;
}

/** The body of `POST /vector_stores/{id}/search`. */
@Closed()
export class SearchBody extends SearchSettings {
  /** One text or several. */
  @Satisfies(queries)
  readonly query!: string | readonly string[];

  /** Whether a model makes a query of the text first. */
  @IsOptional()
  @IsBoolean()
  readonly rewrite_query?: boolean | null;
}

export const validateSearch = validatorOf(SearchBody, ABSENT);

const DEFAULT_RESULTS = 10;

/** The options of a search that a request gives. */
export function toSearchOptions({
  filters,
  max_num_results: most,
  ranking_options: ranking,
}: SearchSettings): Omit<VectorQuestion, 'storeIds' | 'queries'> {
  const weights = ranking?.hybrid_search;
  return {
    ...(filters == null ? {} : { filter: filters }),
    limit: most ?? DEFAULT_RESULTS,
    ranker: ranking?.ranker === 'none' ? 'none' : 'auto',
    scoreThreshold: ranking?.score_threshold ?? 0,
    ...(weights == null ? {} : { weights: { vectors: weights.embedding_weight, words: weights.text_weight } }),
  };
}
