import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';
import type { Includable } from '../../protocol/index.js';
import { compile } from '../../validation/index.js';
import { INCLUDABLES } from './includable.js';
import { toArray, toBoolean, toNumber, type Query } from './query-values.js';

// Unknown query parameters have never been an error.
const OPTIONS = { unknownParameters: 'ignore' } as const;

/** What `GET /responses/{id}/input_items` is asked for (protocol §1.1). */
export interface InputItemsQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the item to continue behind. */
  readonly after?: string;
  readonly include: readonly Includable[];
}

/** What `GET /responses/{id}` is asked for (protocol §1.1). */
export interface RetrieveQuery {
  readonly include: readonly Includable[];
  readonly stream: boolean;
  readonly starting_after?: number;
  readonly include_obfuscation?: boolean;
}

class InputItemsParameters implements InputItemsQuery {
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

  @IsIn(INCLUDABLES, { each: true })
  readonly include!: readonly Includable[];
}

class RetrieveParameters implements RetrieveQuery {
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

const checkInputItems = compile(InputItemsParameters);
const checkRetrieve = compile(RetrieveParameters);

/** Reads the query of `GET /responses/{id}/input_items`; throws ApiError 400 for the first fault. */
export function validateInputItemsQuery(query: Query): InputItemsQuery {
  const parameters = {
    limit: toNumber(query.limit ?? 20),
    order: query.order ?? 'desc',
    include: toArray(query, 'include'),
    ...(query.after === undefined ? {} : { after: query.after }),
  };
  checkInputItems(parameters, OPTIONS);
  return parameters as unknown as InputItemsQuery;
}

/** Reads the query of `GET /responses/{id}`; throws ApiError 400 for the first fault. */
export function validateRetrieveQuery(query: Query): RetrieveQuery {
  const { starting_after, include_obfuscation } = query;
  const parameters = {
    stream: toBoolean(query.stream ?? false),
    include: toArray(query, 'include'),
    ...(starting_after === undefined ? {} : { starting_after: toNumber(starting_after) }),
    ...(include_obfuscation === undefined ? {} : { include_obfuscation: toBoolean(include_obfuscation) }),
  };
  checkRetrieve(parameters, OPTIONS);
  return parameters as RetrieveQuery;
}
