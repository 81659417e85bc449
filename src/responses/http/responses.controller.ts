import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { JsonReader } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import {
  apiPath,
  KnownQuery,
  readGetBody,
  refuseUnknownQuery,
  RESPONSES_ROUTE,
  UnknownFields,
} from '../../http/index.js';
import {
  type Item,
  type ListObject,
  type ResponseWithText,
  withOutputText,
  withOutputTextJson,
} from '../../protocol/index.js';
import { readSessionId } from '../../resources/sessions/index.js';
import type { Query } from '../../validation/index.js';
import { BackgroundResponses } from '../background/background-responses.js';
import { BEFORE_ALL, EventStreams } from '../background/event-streams.js';
import {
  CreateRequestBody,
  DeleteParameters,
  ItemsParameters,
  RetrieveParameters,
  validateDeleteQuery,
  validateItemsQuery,
  validateRetrieveQuery,
} from '../dto/index.js';
import { StoredResponsesService } from '../stored-responses.service.js';
import { forwardHeaders } from './client-connection.js';
import { HttpTurns, transportOf } from './http-turns.js';
import { SseEncoder } from './sse-encoder.js';
import { SseTransport } from './sse-transport.js';
import { TURN_ERRORS } from './turn-errors.js';

const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** Bodies of `POST /responses` for the API description. */
const CREATE_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', input: 'Hello!' },
  'A stream': { model: 'gpt-5', input: 'Tell me a story.', stream: true },
  'Messages and a function': {
    model: 'gpt-5',
    instructions: 'Answer in one sentence.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Lisbon?' }] }],
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters: WEATHER,
        strict: true,
      },
    ],
    tool_choice: 'auto',
  },
  'Structured output': {
    model: 'gpt-5',
    input: 'Which city is the capital of Portugal?',
    text: { format: { type: 'json_schema', name: 'answer', schema: WEATHER, strict: true } },
  },
  'In the background': { model: 'gpt-5', input: 'Write a report.', background: true },
};

/** The body of `DELETE /responses/{id}` (protocol §1.1). */
export interface DeletedResponse {
  readonly id: string;
  readonly object: 'response';
  readonly deleted: true;
}

type Parameters = Readonly<Record<string, unknown>>;

/** `/responses` over HTTP: JSON, or SSE with `stream: true` (protocol §1.1). */
@Controller(apiPath('responses'))
@UseGuards(ApiKeyGuard)
export class ResponsesController {
  private readonly reader: JsonReader;

  constructor(
    private readonly turns: HttpTurns,
    private readonly stored: StoredResponsesService,
    private readonly background: BackgroundResponses,
    private readonly streams: EventStreams,
    private readonly sse: SseTransport,
    private readonly unknownFields: UnknownFields,
    environment: Environment,
  ) {
    this.reader = new JsonReader(environment, 'body of your request');
  }

  @Describe(() => ({
    id: 'createResponse',
    group: 'Responses',
    summary: 'Runs a turn: returns its Response, or a stream of its events.',
    body: { of: CreateRequestBody, examples: CREATE_EXAMPLES },
    headers: ['x-session-id', 'x-response-ttl'],
    answer: 'Response',
    streams: true,
    isTurn: true,
    errors: [...TURN_ERRORS, 'background_queue_full'],
    missing: ['Conversation', 'Item'],
  }))
  @Post()
  @HttpCode(200)
  @RouteConfig(RESPONSES_ROUTE)
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const transport = transportOf(body);
    const { request, admitted } = this.turns.admit(body, { caller, headers, transport });
    const obfuscate = request.stream_options?.include_obfuscation !== false;
    if (request.background === true) {
      const response = await this.background.create(admitted, {
        transport,
        onHeaders: (received) => forwardHeaders(reply, received),
      });
      if (transport === 'json') await this.turns.send(reply, JSON.stringify(withOutputText(response)));
      else await this.sse.follow(this.streams.openNew(caller.tenant, response.id), reply, obfuscate);
      return;
    }
    if (transport === 'sse') {
      await this.turns.stream(admitted, reply, new SseEncoder(obfuscate));
      return;
    }
    const ended = await this.turns.run(admitted, reply);
    if (ended !== undefined) await this.turns.send(reply, withOutputTextJson(ended.json, ended.response));
  }

  @Describe(() => ({
    id: 'getResponse',
    group: 'Responses',
    summary: 'Returns a stored response, or the stream of a background response from an event on.',
    description: 'A JSON body may hold the parameters of the query, which count more.',
    query: RetrieveParameters,
    headers: ['x-session-id'],
    answer: 'Response',
    streams: true,
    errors: ['invalid_mode'],
    missing: ['Response'],
  }))
  @Get(':id')
  async retrieve(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const {
      stream,
      starting_after: after = BEFORE_ALL,
      include_obfuscation: obfuscate = true,
    } = validateRetrieveQuery({ ...(await this.readGet(request)), ...query });
    const within = readSessionId(headers);
    if (stream) await this.sse.follow(await this.streams.open(tenant, id, after, within), reply, obfuscate);
    else await this.turns.send(reply, JSON.stringify(withOutputText(await this.stored.retrieve(tenant, id, within))));
  }

  @Describe(() => ({
    id: 'deleteResponse',
    group: 'Responses',
    summary: 'Deletes a stored response, and its descendants if that is asked for.',
    query: DeleteParameters,
    headers: ['x-session-id'],
    answer: 'DeletedResponse',
    missing: ['Response'],
  }))
  @Delete(':id')
  async delete(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<DeletedResponse> {
    await this.stored.delete(tenant, id, validateDeleteQuery(query), readSessionId(headers));
    return { id, object: 'response', deleted: true };
  }

  @Describe(() => ({
    id: 'listInputItems',
    group: 'Responses',
    summary: 'Lists the input items of a response.',
    query: ItemsParameters,
    headers: ['x-session-id'],
    answer: 'ItemList',
    missing: ['Response'],
  }))
  @Get(':id/input_items')
  inputItems(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Item>> {
    return this.stored.inputItems(tenant, id, validateItemsQuery(query), readSessionId(headers));
  }

  @Describe(() => ({
    id: 'cancelResponse',
    group: 'Responses',
    summary: 'Cancels a background response.',
    description: 'A response that has ended is returned unchanged. 400 without a code: it is no background response.',
    headers: ['x-session-id'],
    answer: 'Response',
    missing: ['Response'],
  }))
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(
    @Param('id') id: string,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ResponseWithText> {
    return withOutputText(await this.stored.cancel(tenant, id, readSessionId(headers)));
  }

  /** The members of a query that are in the body of a GET. */
  private async readGet(request: FastifyRequest): Promise<Query> {
    const query = await readGetBody(request, this.reader);
    refuseUnknownQuery(query, RetrieveParameters, this.unknownFields.options());
    return query;
  }
}
