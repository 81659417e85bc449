import type { ModelInfo as AnthropicModel } from '@anthropic-ai/sdk/resources/models';
import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';

import { refuseUnknownQuery } from '../../http/index.js';
import type { ModelInfo } from '../../providers/index.js';
import { ApiError } from '../../protocol/index.js';
import { type CheckOptions, clip, type Query, queryCheckOf, toNumber } from '../../validation/index.js';

/** A page of models in the form of Anthropic. */
export interface AnthropicModelList {
  readonly data: readonly AnthropicModel[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** The query of a list of models in the form of Anthropic. */
class ModelsQuery {
  @IsInt()
  @Min(1)
  @Max(1000)
  readonly limit!: number;

  @IsOptional()
  @IsString()
  readonly after_id?: string;

  @IsOptional()
  @IsString()
  readonly before_id?: string;
}

const check = queryCheckOf(ModelsQuery);

/** A model in the form of Anthropic. */
export function toAnthropicModel({ id, created, contextWindow, maxOutputTokens }: ModelInfo): AnthropicModel {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: contextWindow ?? null,
    max_tokens: maxOutputTokens ?? null,
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    line: null,
    retires_at: null,
  };
}

/** The page of models that a query of Anthropic's clients asks for. Throws ApiError 400 for the first violation. */
export function toAnthropicModels(
  models: readonly ModelInfo[],
  query: Query,
  options: CheckOptions,
): AnthropicModelList {
  refuseUnknownQuery(query, ModelsQuery, options);
  const { limit, after_id: after, before_id: before } = check({ ...query, limit: toNumber(query.limit ?? 20) });
  const begin = after === undefined ? 0 : placeOf(after, models, 'after_id') + 1;
  const end = before === undefined ? models.length : placeOf(before, models, 'before_id');
  const wanted = models.slice(begin, Math.max(end, begin));
  const page = before === undefined ? wanted.slice(0, limit) : wanted.slice(-limit);
  return {
    data: page.map(toAnthropicModel),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: page.length < wanted.length,
  };
}

function placeOf(name: string, models: readonly ModelInfo[], param: string): number {
  const place = models.findIndex(({ id }) => id === name);
  if (place !== -1) return place;
  throw ApiError.of('invalid_value', `Invalid '${param}': there is no model '${clip(name)}' in the list.`, { param });
}
