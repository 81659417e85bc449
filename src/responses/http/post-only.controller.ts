import { Controller, Delete, Get, NotFoundException, UseGuards } from '@nestjs/common';

import { ApiKeyGuard } from '../../access/index.js';
import { apiPath } from '../../http/index.js';

/**
 * The other methods of `/responses/compact` and `/responses/input_tokens`: 405 with `Allow` (protocol §1.1). Without it, these words would be
 * taken for the ids of responses.
 */
@Controller([apiPath('responses/compact'), apiPath('responses/input_tokens')])
@UseGuards(ApiKeyGuard)
export class PostOnlyController {
  @Get()
  retrieve(): never {
    throw new NotFoundException();
  }

  @Delete()
  delete(): never {
    throw new NotFoundException();
  }
}
