import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { setOpenAiHeaders, setProcessingTime } from './openai-headers.js';
import { toApiError } from './to-api-error.js';

/** Makes the OpenAI error body of whatever was thrown (protocol §7), and logs what was not meant for clients. */
@Catch()
export class OpenAiExceptionFilter implements ExceptionFilter {
  private readonly logger = new Logger(OpenAiExceptionFilter.name);

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const error = toApiError(thrown, request);
    if (error.status >= 500 && error !== thrown) {
      this.logger.error(`request ${request.id} failed: ${request.method} ${request.url}`, thrown);
    }
    if (reply.sent || reply.raw.headersSent) return;
    setOpenAiHeaders(reply);
    setProcessingTime(reply);
    void reply
      .status(error.status)
      .headers(error.headers)
      .header('content-type', 'application/json; charset=utf-8')
      .send(error.toBody());
  }
}
