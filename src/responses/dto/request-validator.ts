import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { isObject, tooManyElements } from '../../validation/index.js';
import {
  type CreateEvent,
  type CreateOptions,
  validateCreateEvent,
  validateCreateRequest,
} from './validate-create-request.js';

/**
 * Validates requests according to the configuration. Not a pipe: a pipe on the body costs eleven promises per request,
 * and both transports need the same function.
 */
@Injectable()
export class RequestValidator {
  constructor(
    private readonly environment: Environment,
    private readonly providers: ProviderRegistry,
  ) {}

  /** The body of `POST /responses`, the same object. Throws ApiError 400 for the first violation. */
  checkRequest(body: unknown): CreateResponseRequest {
    this.limitItems(body);
    return validateCreateRequest(body, this.options);
  }

  /** A `response.create` without its envelope. Throws ApiError 400 for the first violation. */
  checkEvent(body: unknown): CreateEvent {
    this.limitItems(body);
    return validateCreateEvent(body, this.options);
  }

  /** First of all: what follows takes time for every item. */
  private limitItems(body: unknown): void {
    const { INPUT_MAX_ITEMS } = this.environment;
    if (!isObject(body) || !Array.isArray(body.input) || body.input.length <= INPUT_MAX_ITEMS) return;
    throw tooManyElements(INPUT_MAX_ITEMS, body.input.length).under('input').toError();
  }

  private get options(): CreateOptions {
    return { unknownParameters: this.environment.UNKNOWN_PARAMETERS, forwarded: this.providers.forwarded };
  }
}
