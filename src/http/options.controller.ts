import { Controller, HttpCode, NotFoundException, Options, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { API_PREFIX } from './api-paths.js';
import { ApiRoutes } from './api-routes.js';

/** Answers OPTIONS on every API path with its methods; needs no API key. */
@Controller(API_PREFIX)
export class OptionsController {
  constructor(private readonly routes: ApiRoutes) {}

  @Options('*')
  @HttpCode(204)
  options(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): void {
    const methods = this.routes.allowedMethods(request.url);
    if (methods === undefined) throw new NotFoundException();
    void reply.header('allow', [...methods, 'OPTIONS'].join(', '));
  }
}
