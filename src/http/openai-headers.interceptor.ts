import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';

import { setOpenAiHeaders, setProcessingTime } from './openai-headers.js';

/** Gives every answered request the headers of protocol §7. Runs once per request, never per event. */
@Injectable()
export class OpenAiHeadersInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    setOpenAiHeaders(reply);
    return next.handle().pipe(
      tap(() => {
        // Handlers that answer by themselves, streams among them, set the time when they do.
        if (!reply.sent) setProcessingTime(reply);
      }),
    );
  }
}
