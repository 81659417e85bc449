import { IsBoolean, IsIn, IsInt, IsOptional, Min } from 'class-validator';

import { PageParameters, toPageParameters, toPageRequest } from '../../http/index.js';
import { ApiError, type Includable } from '../../protocol/index.js';
import type { DeleteOptions, PageRequest } from '../../state/index.js';
import { type Query, queryCheckOf, toArray, toBoolean, toNumber } from '../../validation/index.js';
import { INCLUDABLES } from './shared-members.js';

/** The query of `GET …/items` and `GET /responses/{id}/input_items`. */
export class ItemsParameters extends PageParameters {
  @IsIn(INCLUDABLES, { each: true })
  readonly include!: readonly Includable[];
}

/** The query of `POST …/items` and `GET …/items/{id}`. */
export class IncludeParameters {
  @IsIn(INCLUDABLES, { each: true })
  readonly include!: readonly Includable[];
}

/** The query of `GET /responses/{id}` (protocol §1.1). */
export class RetrieveParameters {
  @IsIn(INCLUDABLES, { each: true })
  readonly include!: readonly Includable[];

  @IsBoolean()
  readonly stream!: boolean;

  @IsOptional()
  @IsInt()
  @Min(0)
  readonly starting_after?: number;

  @IsOptional()
  @IsBoolean()
  readonly include_obfuscation?: boolean;
}

/** The query of `DELETE /responses/{id}`. */
export class DeleteParameters {
  @IsBoolean()
  readonly cascade!: boolean;
}

/** What says how a stream is read. */
const STREAM_PARAMETERS = ['starting_after', 'include_obfuscation'] as const;

const checkItems = queryCheckOf(ItemsParameters);
const checkInclude = queryCheckOf(IncludeParameters);
const checkRetrieve = queryCheckOf(RetrieveParameters);
const checkDelete = queryCheckOf(DeleteParameters);

/** Reads the query of a list of items (protocol §1.1, §1.2); throws ApiError 400 for the first violation. */
export function validateItemsQuery(query: Query): PageRequest {
  return toPageRequest(checkItems({ ...toPageParameters(query), include: toArray(query, 'include') }));
}

/** Checks the `include` of a query whose items are shown whole in any case; throws ApiError 400. */
export function validateIncludeQuery(query: Query): void {
  checkInclude({ include: toArray(query, 'include') });
}

/** Reads the query of `DELETE /responses/{id}`; throws ApiError 400. */
export function validateDeleteQuery(query: Query): DeleteOptions {
  return checkDelete({ cascade: toBoolean(query.cascade ?? false) });
}

/** Reads the query of `GET /responses/{id}`; throws ApiError 400 for the first violation. */
export function validateRetrieveQuery(query: Query): RetrieveParameters {
  const { starting_after, include_obfuscation } = query;
  const parameters = checkRetrieve({
    stream: toBoolean(query.stream ?? false),
    include: toArray(query, 'include'),
    ...(starting_after === undefined ? {} : { starting_after: toNumber(starting_after) }),
    ...(include_obfuscation === undefined ? {} : { include_obfuscation: toBoolean(include_obfuscation) }),
  });
  const ofStreams = parameters.stream ? undefined : STREAM_PARAMETERS.find((name) => query[name] !== undefined);
  if (ofStreams !== undefined) {
    throw ApiError.badRequest(`'${ofStreams}' is only allowed when 'stream' is true.`, ofStreams);
  }
  return parameters;
}
