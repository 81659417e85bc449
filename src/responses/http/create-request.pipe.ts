import { Injectable, type PipeTransform } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { validateCreateRequest } from '../dto/index.js';

/** Checks the body of `POST /responses` and gives the same object back, typed. Throws ApiError 400. */
@Injectable()
export class CreateRequestPipe implements PipeTransform<unknown, CreateResponseRequest> {
  constructor(private readonly environment: Environment) {}

  transform(body: unknown): CreateResponseRequest {
    return validateCreateRequest(body, { unknownParameters: this.environment.UNKNOWN_PARAMETERS });
  }
}
