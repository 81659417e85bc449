import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../../config/index.js';
import { setProcessingTime } from '../../http/index.js';
import type { StreamEvent } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { breakConnection, cutOffWhenStalled } from './client-connection.js';
import { DONE_FRAME, SseEncoder } from './sse-encoder.js';
import { SseWriter } from './sse-writer.js';

/** Sends the events of a turn to an HTTP client. */
@Injectable()
export class SseTransport {
  private readonly logger = new Logger(SseTransport.name);

  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Streams until the terminal event and `[DONE]`; events that end without one end the client's connection. The head is sent
   * with the first batch, so that what is thrown before it is still an HTTP error with a body of its own.
   */
  async send(
    events: AsyncGenerator<readonly StreamEvent[], void, undefined>,
    reply: FastifyReply,
    obfuscate: boolean,
  ): Promise<void> {
    const first = await events.next();
    if (first.done === true) {
      breakConnection(reply.raw);
      return;
    }
    try {
      setProcessingTime(reply);
      const writer = SseWriter.open(reply, this.clock, this.environment.SSE_KEEPALIVE_MS);
      cutOffWhenStalled(reply, this.environment.CLIENT_STALL_TIMEOUT_MS);
      const encoder = new SseEncoder(obfuscate);
      let ended = isTerminal(first.value);
      await writer.write(encoder.encode(first.value));
      for await (const batch of events) {
        await writer.write(encoder.encode(batch));
        ended = isTerminal(batch);
      }
      if (ended) writer.end(DONE_FRAME);
      else writer.cut();
    } catch (error) {
      // The road throws nothing once it has begun; if it does, a cut stream is the only honest end.
      this.logger.error(`stream of request ${reply.request.id} broke`, error);
      reply.raw.destroy();
    } finally {
      await events.return();
    }
  }
}

/** Whether a batch ends with the terminal event. */
function isTerminal(batch: readonly StreamEvent[]): boolean {
  return (batch.at(-1)?.response ?? null) !== null;
}
