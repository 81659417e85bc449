import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { answerError } from './answer-error.js';
import { ApiRoutes } from './api-routes.js';

/** Answers with the OpenAI error body of any value thrown by a route, guard, pipe or hook. */
@Catch()
export class OpenAiExceptionFilter implements ExceptionFilter {
  constructor(private readonly routes: ApiRoutes) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    answerError(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.routes);
  }
}
