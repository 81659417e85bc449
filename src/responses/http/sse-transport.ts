import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../../config/index.js';
import { setProcessingTime } from '../../http/index.js';
import { Clock } from '../../time/index.js';
import type { Deliver } from '../deliver.js';
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
   * Runs a turn as a stream: its events, then `[DONE]`; one that ends without a terminal event ends the client's connection.
   * The head is sent with the first batch, so that what is thrown before it is still an HTTP error with a body of its own.
   */
  async send(run: (deliver: Deliver) => Promise<unknown>, reply: FastifyReply, obfuscate: boolean): Promise<void> {
    const encoder = new SseEncoder(obfuscate);
    let writer: SseWriter | undefined;
    try {
      const response = await run((batch) => {
        writer ??= this.open(reply);
        return writer.write(encoder.encode(batch));
      });
      if (response !== undefined) writer?.end(DONE_FRAME);
      else if (writer !== undefined) writer.cut();
      else breakConnection(reply.raw);
    } catch (error) {
      if (writer === undefined) throw error;
      // The road throws nothing once it has begun; if it does, a cut stream is the only honest end.
      this.logger.error(`stream of request ${reply.request.id} broke`, error);
      reply.raw.destroy();
    }
  }

  private open(reply: FastifyReply): SseWriter {
    setProcessingTime(reply);
    const writer = SseWriter.open(reply, this.clock, this.environment.SSE_KEEPALIVE_MS);
    cutOffWhenStalled(reply, this.environment.CLIENT_STALL_TIMEOUT_MS);
    return writer;
  }
}
