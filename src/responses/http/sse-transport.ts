import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../../config/index.js';
import { setProcessingTime } from '../../http/index.js';
import type { StreamEvent } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { type LogReader, StreamGoneError } from '../background/event-streams.js';
import { ResponsesService } from '../responses.service.js';
import type { ActiveTurn } from '../turn/active-turn.js';
import { type EventSink, withEventNames } from '../turn/event-sink.js';
import { HalfClosedClients, StalledClients } from './client-connection.js';
import { SseEncoder, type StreamForm } from './sse-encoder.js';
import { SseWriter } from './sse-writer.js';

/** Streams turns to HTTP clients. */
@Injectable()
export class SseTransport {
  private readonly logger = new Logger('SseTransport');

  constructor(
    private readonly responses: ResponsesService,
    private readonly stalled: StalledClients,
    private readonly halfClosed: HalfClosedClients,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Runs a turn as a stream: its events, then the end, unless the turn broke the connection. The head is sent with the first
   * batch, so that earlier errors become HTTP errors.
   */
  async send(turn: ActiveTurn, reply: FastifyReply, form: StreamForm): Promise<void> {
    const stream = new SseStream(form, () => this.open(reply, form), turn);
    try {
      const ended = await this.responses.execute(turn, this.named(stream, form));
      if (ended !== undefined) stream.writer?.end(form.end);
      else stream.writer?.leave();
    } catch (error) {
      if (stream.writer === null) throw error;
      // A turn does not throw after its first event; if it does, the stream is broken off.
      this.logger.error(`stream of request ${reply.request.id} broke`, error);
      reply.raw.destroy();
    }
  }

  /**
   * Streams the logged events of a response until its terminal event, then `[DONE]`. The head is sent at once. The
   * connection is broken when the events are deleted meanwhile: the client must not take that for the end. Client and
   * store may both pause it; the run does not wait.
   */
  async follow(events: LogReader, reply: FastifyReply, obfuscate: boolean): Promise<void> {
    const form = new SseEncoder(obfuscate);
    const stream = new SseStream(form, () => this.open(reply, form));
    stream.writer = this.open(reply, form);
    stream.writer.sendHead();
    reply.raw.once('close', () => events.close());
    if (reply.raw.destroyed) events.close();
    const sink = this.named(stream, form);
    try {
      for (let page = await events.next(); page !== undefined; page = await events.next()) await sink.write(page);
      stream.writer.end(form.end);
    } catch (error) {
      if (!(error instanceof StreamGoneError)) this.logger.error(`stream of request ${reply.request.id} broke`, error);
      reply.raw.destroy();
    } finally {
      events.close();
    }
  }

  /** EVENT_NAMES is about the Responses API: other forms read OpenAI's names. */
  private named(stream: SseStream, form: StreamForm): EventSink {
    return form instanceof SseEncoder ? withEventNames(stream, this.environment.EVENT_NAMES) : stream;
  }

  private open(reply: FastifyReply, form: StreamForm): SseWriter {
    setProcessingTime(reply);
    const writer = SseWriter.open(reply, form, this.clock, this.environment.SSE_KEEPALIVE_MS);
    this.stalled.watch(reply);
    this.halfClosed.watch(reply, () => writer.probe());
    return writer;
  }
}

/** The stream of one turn; opened by its first events. */
class SseStream implements EventSink {
  writer: SseWriter | null = null;

  constructor(
    private readonly form: StreamForm,
    private readonly open: () => SseWriter,
    private readonly turn: ActiveTurn | null = null,
  ) {}

  write(events: readonly StreamEvent[]): Promise<void> | undefined {
    this.writer ??= this.open();
    const written = this.writer.write(this.form.encode(events));
    if (this.form.isOver === true) this.turn?.endEarly('steered');
    return written;
  }
}
