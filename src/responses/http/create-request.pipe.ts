import { Injectable, type PipeTransform } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { validateCreateRequest } from '../dto/index.js';

/** Checks the body of `POST /responses` and gives the same object back, typed. Throws ApiError 400. */
@Injectable()
export class CreateRequestPipe implements PipeTransform<unknown, CreateResponseRequest> {
  constructor(
    private readonly environment: Environment,
    private readonly providers: ProviderRegistry,
  ) {}

  transform(body: unknown): CreateResponseRequest {
    const { UNKNOWN_PARAMETERS: unknownParameters } = this.environment;
    return validateCreateRequest(body, { unknownParameters, forwarded: this.providers.forwarded });
  }
}
