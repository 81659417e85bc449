import { Controller, HttpCode, NotFoundException, Options, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { API_PREFIXES, allowedMethods } from './api-paths.js';

/** Answers OPTIONS on every API path with its methods; needs no API key. */
@Controller([...API_PREFIXES])
export class OptionsController {
  @Options('*')
  @HttpCode(204)
  options(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): void {
    const methods = allowedMethods(request.url);
    if (methods === undefined) throw new NotFoundException();
    void reply.header('allow', [...methods, 'OPTIONS'].join(', '));
  }
}
