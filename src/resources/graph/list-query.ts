import { IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import { metadataFilter, metadataIn, PageParameters, toPageParameters, toPageRequest } from '../../http/index.js';
import { ApiError } from '../../protocol/index.js';
import { sessionId } from '../sessions/index.js';
import type { PageRequest, ResponseFilter, TreeBounds } from '../../state/index.js';
import { clip, type Query, queryCheckOf, Satisfies, toNumber } from '../../validation/index.js';

const STATUSES = ['completed', 'incomplete', 'failed', 'cancelled', 'in_progress', 'queued'];
/** The last second that a Date can represent. */
const LATEST = 8_640_000_000_000;

/** The time filters, `created_at[gte]=…` (Unix seconds), and the seconds added to turn each into `gte` or `lt`. */
const TIMES = { 'created_at[gte]': 0, 'created_at[gt]': 1, 'created_at[lt]': 0, 'created_at[lte]': 1 } as const;

/** The query of `GET /responses`. */
export class ListParameters extends PageParameters {
  @IsOptional()
  @Satisfies(sessionId)
  readonly session_id?: string;

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly model?: string;

  @IsOptional()
  @IsIn(STATUSES)
  readonly status?: string;

  @IsOptional()
  @Satisfies(metadataFilter)
  readonly metadata?: Readonly<Record<string, string>>;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LATEST)
  readonly 'created_at[gte]'?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LATEST)
  readonly 'created_at[gt]'?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LATEST)
  readonly 'created_at[lt]'?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LATEST)
  readonly 'created_at[lte]'?: number;
}

/** The query of `GET /responses/{id}/tree`. */
export class TreeParameters implements TreeBounds {
  @IsInt()
  @Min(0)
  @Max(100)
  readonly depth!: number;

  @IsInt()
  @Min(1)
  @Max(1000)
  readonly limit!: number;
}

const checkList = queryCheckOf(ListParameters);
const checkTree = queryCheckOf(TreeParameters);

/** Reads the query of `GET /responses`. Throws ApiError 400 for the first violation. */
export function readListQuery(query: Query): { readonly filter: ResponseFilter; readonly page: PageRequest } {
  refuseUnknownTimes(query);
  const { session_id: session, model, status } = query;
  const times = Object.keys(TIMES).filter((name) => query[name] !== undefined);
  const checked = checkList({
    ...toPageParameters(query),
    ...(session === undefined ? {} : { session_id: session }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...metadataIn(query),
    ...Object.fromEntries(times.map((name) => [name, toNumber(query[name])])),
  });
  return { filter: toFilter(checked), page: toPageRequest(checked) };
}

/** Reads the query of `GET /responses/{id}/tree`. Throws ApiError 400 for the first violation. */
export function readTreeQuery({ depth, limit }: Query): TreeBounds {
  return checkTree({ depth: toNumber(depth ?? 20), limit: toNumber(limit ?? 100) });
}

/** The session of a list, from the query or the header. Throws ApiError 400 when they differ. */
export function oneSession(inQuery: string | undefined, inHeader: string | undefined): string | undefined {
  if (inQuery === undefined || inHeader === undefined || inQuery === inHeader) return inQuery ?? inHeader;
  const message = "Mutually exclusive parameters: 'session_id' and the header 'x-session-id' name different sessions.";
  throw ApiError.of('mutually_exclusive_parameters', message, { param: 'session_id' });
}

/** A misspelt time filter must not list everything, whatever UNKNOWN_PARAMETERS says. */
function refuseUnknownTimes(query: Query): void {
  const unknown = Object.keys(query).find((name) => name.startsWith('created_at') && !(name in TIMES));
  if (unknown === undefined) return;
  const param = clip(unknown);
  const known = Object.keys(TIMES).join(', ');
  throw ApiError.of('unknown_parameter', `Unknown parameter: '${param}'. Supported are ${known}.`, { param });
}

function toFilter(parameters: ListParameters): ResponseFilter {
  const { session_id: session, model, status, metadata: pairs } = parameters;
  const from = boundsOf(parameters, ['created_at[gte]', 'created_at[gt]']);
  const before = boundsOf(parameters, ['created_at[lt]', 'created_at[lte]']);
  return {
    ...(session === undefined ? {} : { sessionId: session }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { statuses: [status] }),
    ...(pairs === undefined ? {} : { metadata: pairs }),
    ...(from.length === 0 ? {} : { createdFrom: Math.max(...from) }),
    ...(before.length === 0 ? {} : { createdBefore: Math.min(...before) }),
  };
}

function boundsOf(parameters: ListParameters, names: readonly (keyof typeof TIMES)[]): readonly number[] {
  return names.flatMap((name) => {
    const value = parameters[name];
    return value === undefined ? [] : [value + TIMES[name]];
  });
}
