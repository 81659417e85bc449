import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
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
  private readonly toleratedFor = (model: string): ReadonlySet<string> => this.providers.tolerated(model);

  constructor(
    private readonly environment: Environment,
    private readonly providers: ProviderRegistry,
  ) {}

  /** The body of `POST /responses`, the same object. Throws ApiError 400 for the first violation. */
  checkRequest(body: unknown): CreateResponseRequest {
    return validateCreateRequest(body, this.options);
  }

  /** A `response.create` without its envelope. Throws ApiError 400 for the first violation. */
  checkEvent(body: unknown): CreateEvent {
    return validateCreateEvent(body, this.options);
  }

  private get options(): CreateOptions {
    const { environment, providers, toleratedFor } = this;
    return { unknownParameters: environment.UNKNOWN_PARAMETERS, forwarded: providers.forwarded, toleratedFor };
  }
}
