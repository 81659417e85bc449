import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';

import { type CreateResponseRequest, refuseMisplacedTrigger } from '../../protocol/index.js';
import { compile, membersOf, nested, refuseUnknown, requireObject, Satisfies } from '../../validation/index.js';
import { conversation, responseId } from './shared-members.js';
import { refuseTwoHistories, requireInput } from './cross-checks.js';
import { ModelMember } from './create-request-body.js';
import { input } from './input-item.js';
import { refuseWithoutModel } from './refuse-without-model.js';
import { ImageConfig, PromptCacheOptions } from './tuning.js';
import type { CreateOptions } from './validate-create-request.js';

/** The body of `POST /responses/compact` (protocol §1.1). */
export class CompactRequestBody extends ModelMember {
  @IsOptional()
  @Satisfies(input)
  readonly input?: string | readonly object[] | null;

  @IsOptional()
  @IsString()
  readonly instructions?: string | null;

  @IsOptional()
  @Satisfies(responseId)
  readonly previous_response_id?: string | null;

  /** Read without its lock, and not changed. */
  @IsOptional()
  @Satisfies(conversation)
  readonly conversation?: string | { readonly id: string } | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  readonly prompt_cache_key?: string | null;

  @IsOptional()
  @Satisfies(nested(PromptCacheOptions))
  readonly prompt_cache_options?: PromptCacheOptions | null;

  @IsOptional()
  @IsIn(['in_memory', '24h'])
  readonly prompt_cache_retention?: string | null;

  @IsOptional()
  @IsIn(['auto', 'default', 'fast', 'flex', 'priority'])
  readonly service_tier?: string | null;

  @IsOptional()
  @Satisfies(nested(ImageConfig))
  readonly image?: ImageConfig | null;
}

/** A validated body of `POST /responses/compact`: the members of a create request that it may have. */
export type CompactRequest = Pick<CreateResponseRequest, keyof CompactRequestBody>;

const check = compile(CompactRequestBody);
const MEMBERS = membersOf(CompactRequestBody);

/**
 * Checks the body of `POST /responses/compact` and returns the same object, unchanged.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateCompactRequest(body: unknown, options: CreateOptions): CompactRequest {
  const { toleratedFor, forwarded, ...given } = options;
  const members = requireObject(body);
  refuseWithoutModel(members, given);
  const unknown = refuseUnknown(members, MEMBERS, given, forwarded);
  if (unknown !== null) throw unknown.toError();
  const request = members as unknown as CompactRequest;
  check(members, { ...given, tolerated: toleratedFor?.(request.model) });
  // Not `prompt`, which this route does not take.
  if (request.previous_response_id == null) {
    requireInput({ input: request.input, conversation: request.conversation });
  }
  refuseTwoHistories(request);
  refuseMisplacedTrigger(request.input);
  return request;
}
