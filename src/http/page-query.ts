import { IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import { ApiError } from '../protocol/index.js';
import type { PageRequest } from '../state/index.js';
import { compile, type Query, toNumber } from '../validation/index.js';

/** The query of a list (protocol §1.1). Faults are reported in this order. */
export class PageParameters {
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

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly before?: string;
}

/** A query as PageParameters, to be checked. */
export function toPageParameters({ limit, order, after, before }: Query): object {
  return {
    limit: toNumber(limit ?? 20),
    order: order ?? 'desc',
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
  };
}

/** Checked parameters as the page they ask for. Throws ApiError 400 where they contradict each other. */
export function toPageRequest({ limit, order, after, before }: PageParameters): PageRequest {
  if (after !== undefined && before !== undefined) {
    const message = "Mutually exclusive parameters: 'after' and 'before'. A page begins or ends at a cursor, not both.";
    throw ApiError.of('mutually_exclusive_parameters', message, { param: 'before' });
  }
  return { limit, order, ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) };
}

const check = compile(PageParameters);

/** Reads the query of a list that takes nothing else. Throws ApiError 400 for the first fault. */
export function readPageQuery(query: Query): PageRequest {
  const parameters = toPageParameters(query);
  // Unknown query parameters have never been an error.
  check(parameters, { unknownParameters: 'ignore' });
  return toPageRequest(parameters as PageParameters);
}
