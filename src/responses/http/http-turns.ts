import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import type { Caller } from '../../access/index.js';
import { ContinuationCaches, type RecentOfTurn } from '../../context/index.js';
import type { CreateResponseRequest } from '../../protocol/index.js';
import { isObject } from '../../validation/index.js';
import { RequestValidator } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { EndedTurn } from '../turn/save.js';
import { type Door, TurnObservers } from '../turn/turn-observer.js';
import { activate, HalfClosedClients, StalledClients } from './client-connection.js';
import type { StreamForm } from './sse-encoder.js';
import { SseTransport } from './sse-transport.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Who asks for a turn over HTTP, and how it is answered. */
export interface HttpAsker {
  readonly caller: Caller;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly transport: 'json' | 'sse';
}

/** How the answer to a body is sent. The body need not be valid. */
export function transportOf(body: unknown): HttpAsker['transport'] {
  return isObject(body) && body['stream'] === true ? 'sse' : 'json';
}

/** A turn that may run, and the request that it was made from. */
export interface AskedRequest {
  readonly request: CreateResponseRequest;
  readonly admitted: AdmittedTurn;
}

/** A body in another dialect as one of `POST /responses`. */
export interface TranslatedBody {
  readonly body: object;
  /** An error about the body that it became, as one about the body that it was. */
  explain(error: unknown): unknown;
}

/** Turns over HTTP, in the dialect of the Responses API and in those of src/doors. */
@Injectable()
export class HttpTurns {
  constructor(
    private readonly validator: RequestValidator,
    private readonly observers: TurnObservers,
    private readonly responses: ResponsesService,
    private readonly sse: SseTransport,
    private readonly stalled: StalledClients,
    private readonly halfClosed: HalfClosedClients,
    private readonly caches: ContinuationCaches,
  ) {}

  /** Validates a body of `POST /responses` and admits its turn. Throws ApiError for a refusal, of which observers are told. */
  admit(body: unknown, asker: HttpAsker): AskedRequest {
    const { caller, headers, transport } = asker;
    return this.observers.asked(
      () => ({ caller, door: 'responses', transport, request: body, headers }),
      () => {
        const request = this.validator.checkRequest(body, caller);
        return { request, admitted: this.responses.admit(request, caller, { headers }) };
      },
    );
  }

  /**
   * Validates a body in another dialect and admits its turn. Throws as `admit`. Observers see the body beside what it becomes, or alone where it
   * cannot be translated.
   */
  admitTranslated<T extends TranslatedBody>(
    body: unknown,
    asker: HttpAsker & { readonly door: Door },
    translate: (body: unknown) => T,
  ): AskedRequest & { readonly translated: T } {
    const { caller, door, headers, transport } = asker;
    let translated: T | undefined;
    let refusal: unknown;
    try {
      translated = translate(body);
    } catch (error) {
      refusal = error;
    }
    return this.observers.asked(
      () => ({ caller, door, transport, headers, request: translated?.body ?? body, original: body }),
      () => {
        if (translated === undefined) throw refusal as Error;
        try {
          const request = this.validator.checkTranslated(translated.body, caller);
          const options = { headers, givesMessages: true };
          return { request, admitted: this.responses.admit(request, caller, options), translated };
        } catch (error) {
          throw translated.explain(error) as Error;
        }
      },
    );
  }

  /** Runs a turn as a stream. Throws what comes before its first event; the rest is in the stream. */
  stream(admitted: AdmittedTurn, reply: FastifyReply, form: StreamForm, door?: Door): Promise<void> {
    const continuations = this.recall(admitted);
    const turn = activate(admitted, reply, { door, transport: 'sse', halfClosed: this.halfClosed, continuations });
    return endWith(continuations, this.sse.send(turn, reply, form));
  }

  /** Runs a turn whole. Undefined when there is nobody to answer. Throws ApiError for a refusal, and when it cannot be saved. */
  run(admitted: AdmittedTurn, reply: FastifyReply, door?: Door): Promise<EndedTurn | undefined> {
    const continuations = this.recall(admitted);
    const turn = activate(admitted, reply, { door, transport: 'json', halfClosed: this.halfClosed, continuations });
    return endWith(continuations, this.responses.execute(turn, null));
  }

  /** Counts the input tokens of a body, which is not run. Undefined when the client has disconnected. Throws ApiError for a refusal. */
  count(body: unknown, { caller, headers }: HttpAsker, reply: FastifyReply): Promise<number | undefined> {
    const { halfClosed } = this;
    const options = { headers, givesMessages: true };
    const admitted = this.responses.admit(this.validator.checkCount(body, caller), caller, options);
    return this.responses.countInput(activate(admitted, reply, { transport: 'json', halfClosed }));
  }

  /** Answers with JSON text. */
  async send(reply: FastifyReply, json: string): Promise<void> {
    this.stalled.watch(reply);
    void reply.type(JSON_TYPE).send(json);
    // An asynchronous hook, such as compression, may be pending: without this, Fastify would send a second answer.
    if (!reply.sent) await reply;
  }

  /** Only a turn that continues a response and is stored makes one that may be continued in turn. */
  private recall({ caller, settings }: AdmittedTurn): RecentOfTurn | undefined {
    if (settings.previous_response_id === null || !settings.store) return undefined;
    return this.caches.recent.begin(caller.tenant);
  }
}

function endWith<T>(continuations: RecentOfTurn | undefined, turn: Promise<T>): Promise<T> {
  return continuations === undefined ? turn : turn.finally(() => continuations.end());
}
