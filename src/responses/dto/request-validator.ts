import { Injectable } from '@nestjs/common';

import { UnknownFields } from '../../http/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { type CreateEvent, validateCreateEvent, validateCreateRequest } from './validate-create-request.js';

/**
 * Validates requests according to the configuration. Not a pipe: a pipe on the body costs eleven promises per request,
 * and both transports need the same function.
 */
@Injectable()
export class RequestValidator {
  constructor(
    private readonly unknownFields: UnknownFields,
    private readonly providers: ProviderRegistry,
  ) {}

  /** The body of `POST /responses`, the same object. Throws ApiError 400 for the first violation. */
  checkRequest(body: unknown): CreateResponseRequest {
    return validateCreateRequest(body, this.unknownFields.options(), this.providers.forwarded);
  }

  /** A `response.create` without its envelope. Throws ApiError 400 for the first violation. */
  checkEvent(body: unknown): CreateEvent {
    return validateCreateEvent(body, this.unknownFields.options(), this.providers.forwarded);
  }
}
