import { IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import { ApiError } from '../protocol/index.js';
import type { PageRequest } from '../state/index.js';
import { type Query, queryCheckOf, recordOfStrings, toNumber } from '../validation/index.js';

/** The query of a list that is read in one direction. Violations are reported in this order. */
export class ForwardParameters {
  @IsInt()
  @Min(1)
  @Max(100)
  readonly limit!: number;

  @IsIn(['asc', 'desc'])
  readonly order!: 'asc' | 'desc';

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly after?: string;
}

/** The query of a list (protocol §1.1). */
export class PageParameters extends ForwardParameters {
  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly before?: string;
}

/** A query as unvalidated ForwardParameters, in this order unless it names another. */
export function toForwardParameters({ limit, order, after }: Query, usual: ForwardParameters['order']): object {
  return { limit: toNumber(limit ?? 20), order: order ?? usual, ...(after === undefined ? {} : { after }) };
}

/** A query as unvalidated PageParameters. */
export function toPageParameters(query: Query): object {
  const { before } = query;
  return { ...toForwardParameters(query, 'desc'), ...(before === undefined ? {} : { before }) };
}

/** The page of validated parameters. Throws ApiError 400 when they contradict each other. */
export function toPageRequest({ limit, order, after, before }: PageParameters): PageRequest {
  if (after !== undefined && before !== undefined) {
    const message = "Mutually exclusive parameters: 'after' and 'before'. A page begins or ends at a cursor, not both.";
    throw ApiError.of('mutually_exclusive_parameters', message, { param: 'before' });
  }
  return { limit, order, ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) };
}

const check = queryCheckOf(PageParameters);

/** Reads the query of a list without further parameters. Throws ApiError 400 for the first violation. */
export function readPageQuery(query: Query): PageRequest {
  return toPageRequest(check(toPageParameters(query)));
}

const KEY = /^metadata\[(.*)\]$/s;

/** The rule of the metadata by which a list is filtered. */
export const metadataFilter = recordOfStrings({
  expected: 'metadata as metadata[name]=value',
  maxProperties: 16,
  maxNameLength: 64,
  maxValueLength: 512,
});

/** The metadata of a query, `metadata[name]=value`, as an unvalidated member; nothing if it has none. */
export function metadataIn(query: Query): { readonly metadata?: unknown } {
  const pairs = Object.entries(query).flatMap(([key, value]) => {
    const name = KEY.exec(key)?.[1];
    return name === undefined ? [] : [[name, value]];
  });
  // Without a name it is refused.
  if (query.metadata !== undefined) return { metadata: query.metadata };
  return pairs.length === 0 ? {} : { metadata: Object.fromEntries(pairs) };
}
