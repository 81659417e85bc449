import { Injectable } from '@nestjs/common';

import type { Caller } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { UnknownFields } from '../../http/index.js';
import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { isObject, tooManyElements } from '../../validation/index.js';
import { type PromptReference, Prompts, toOwnPlaces, withPrompt } from '../prompts/prompts.js';
import { type CompactRequest, validateCompactRequest } from './compact-request-body.js';
import { SHORT_ANSWERS } from './create-request-body.js';
import { checkPrompt } from './prompt.js';
import {
  type CreateEvent,
  type CreateOptions,
  validateCreateEvent,
  validateCreateRequest,
  validateInputTokensRequest,
} from './validate-create-request.js';

/** Most members of a request, known or not. The API has about forty. */
const MOST_MEMBERS = 1000;

/**
 * Validates requests according to the configuration. Not a pipe: a pipe on the body costs eleven promises per request,
 * and both transports need the same function.
 */
@Injectable()
export class RequestValidator {
  private readonly toleratedFor = (model: string): ReadonlySet<string> => this.providers.tolerated(model);

  constructor(
    private readonly environment: Environment,
    private readonly unknownFields: UnknownFields,
    private readonly providers: ProviderRegistry,
    private readonly prompts: Prompts,
  ) {}

  /** The body of `POST /responses`, the same object unless it names a prompt. Throws ApiError 400 for the first violation. */
  checkRequest(body: unknown, caller: Caller): CreateResponseRequest {
    return this.check(body, caller, validateCreateRequest);
  }

  /** Checks a body that was translated from another API, in which an answer may be as short as its client likes. Throws as `checkRequest`. */
  checkTranslated(body: unknown, caller: Caller): CreateResponseRequest {
    return this.check(body, caller, (given, { toleratedFor, ...options }) =>
      validateCreateRequest(given, {
        ...options,
        toleratedFor: (model) => new Set([...(toleratedFor?.(model) ?? []), SHORT_ANSWERS]),
      }),
    );
  }

  /** A `response.create` without its envelope. Throws ApiError 400 for the first violation. */
  checkEvent(body: unknown, caller: Caller): CreateEvent {
    return this.check(body, caller, validateCreateEvent);
  }

  /** The members of a body of `POST /responses/input_tokens` that count. Throws ApiError 400 for the first violation. */
  checkCount(body: unknown, caller: Caller): CreateResponseRequest {
    return this.check(body, caller, validateInputTokensRequest);
  }

  /** The body of `POST /responses/compact`, the same object. Throws ApiError 400 for the first violation. */
  checkCompactRequest(body: unknown): CompactRequest {
    this.limitSize(body);
    return validateCompactRequest(body, this.options());
  }

  /** First of all, because what follows takes time for each of them. */
  private limitSize(body: unknown): void {
    if (!isObject(body)) return;
    const { INPUT_MAX_ITEMS } = this.environment;
    const { input } = body;
    if (Array.isArray(input) && input.length > INPUT_MAX_ITEMS) {
      throw tooManyElements(INPUT_MAX_ITEMS, input.length).under('input').toError();
    }
    let members = 0;
    for (const _ in body) members += 1;
    if (members > MOST_MEMBERS) {
      const message = `Invalid request: too many properties. Expected an object with at most ${MOST_MEMBERS} properties, but got an object with ${members} properties instead.`;
      throw ApiError.of('object_above_max_properties', message);
    }
  }

  /** Validates a body with what its prompt brings, which decides about the rest. */
  private check<T>(body: unknown, { tenant }: Caller, validate: (body: unknown, options: CreateOptions) => T): T {
    this.limitSize(body);
    if (!isObject(body) || body.prompt == null) return validate(body, this.options());
    checkPrompt(body, this.unknownFields.options());
    const filled = this.prompts.fill(body.prompt as PromptReference, tenant);
    try {
      return validate(withPrompt(body, filled), this.options());
    } catch (error) {
      throw error instanceof ApiError ? toOwnPlaces(error, filled) : error;
    }
  }

  private options(): CreateOptions {
    const { providers, toleratedFor } = this;
    return { ...this.unknownFields.options(), forwarded: providers.forwarded, toleratedFor };
  }
}
