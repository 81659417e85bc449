import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ChatCompletionDeleted } from 'openai/resources/chat/completions';

import { type Caller, CurrentCaller, type Tenant } from '../../access/index.js';
import { Describe } from '../../api-description/index.js';
import { Environment } from '../../config/index.js';
import { apiPaths, UnknownFields } from '../../http/index.js';
import { ApiError, type ResponseObject } from '../../protocol/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { HttpTurns, StoredResponsesService, transportOf, TURN_ERRORS } from '../../responses/index.js';
import { readSessionId } from '../../sessions/index.js';
import { BehindDoor, storesByDefault } from '../door.js';
import { ChatCompletionBody } from './body.js';
import { ChatChunks } from './chunks.js';
import { type Completion, toCompletion, toResponseId } from './completion.js';
import { ChatRequest } from './request.js';

const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** Bodies of `POST /chat/completions` for the API description. */
const CHAT_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello!' }] },
  'A stream with its usage': {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'Tell me a story.' }],
    stream: true,
    stream_options: { include_usage: true },
  },
  'Messages and a function': {
    model: 'gpt-5',
    messages: [
      { role: 'developer', content: 'Answer in one sentence.' },
      { role: 'user', content: [{ type: 'text', text: 'What is the weather in Lisbon?' }] },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'The weather of a city.', parameters: WEATHER, strict: true },
      },
    ],
    tool_choice: 'auto',
  },
  'Structured output': {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'Which city is the capital of Portugal?' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: WEATHER, strict: true } },
  },
};

type Parameters = Readonly<Record<string, unknown>>;

/** `/chat/completions`: turns in the dialect of Chat Completions (docs/doors-chat.md). */
@Controller(apiPaths('chat/completions'))
@BehindDoor('chat')
export class ChatController {
  constructor(
    private readonly turns: HttpTurns,
    private readonly stored: StoredResponsesService,
    private readonly providers: ProviderRegistry,
    private readonly unknownFields: UnknownFields,
    private readonly environment: Environment,
  ) {}

  @Describe(() => ({
    id: 'createChatCompletion',
    group: 'Chat Completions',
    summary: 'Runs a turn: returns its completion, or a stream of chunks.',
    body: { of: ChatCompletionBody, examples: CHAT_EXAMPLES },
    headers: ['x-session-id', 'x-response-ttl'],
    answer: 'ChatCompletion',
    streams: 'ChatCompletionChunk',
    isTurn: true,
    errors: TURN_ERRORS,
  }))
  @Post()
  @HttpCode(200)
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const transport = transportOf(body);
    const { admitted, translated } = this.turns.admitTranslated(body, { caller, headers, transport }, (given) =>
      this.translate(given, headers),
    );
    try {
      if (transport === 'sse') {
        await this.turns.stream(admitted, reply, new ChatChunks(admitted, translated), 'chat');
        return;
      }
      const ended = await this.turns.run(admitted, reply, 'chat');
      if (ended !== undefined)
        await this.turns.send(reply, JSON.stringify(toCompletion(ended.response, translated.answer.stops)));
    } catch (error) {
      throw translated.explain(error) as Error;
    }
  }

  @Describe(() => ({
    id: 'getChatCompletion',
    group: 'Chat Completions',
    summary: 'Returns a stored completion.',
    headers: ['x-session-id'],
    answer: 'ChatCompletion',
    missing: ['Completion'],
  }))
  @Get(':id')
  async retrieve(
    @Param('id') id: string,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<Completion> {
    return toCompletion(await this.find(tenant, id, readSessionId(headers)));
  }

  @Describe(() => ({
    id: 'deleteChatCompletion',
    group: 'Chat Completions',
    summary: 'Deletes a stored completion.',
    headers: ['x-session-id'],
    answer: 'DeletedChatCompletion',
    missing: ['Completion'],
  }))
  @Delete(':id')
  async delete(
    @Param('id') id: string,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ChatCompletionDeleted> {
    const within = readSessionId(headers);
    const { id: responseId } = await this.find(tenant, id, within);
    await naming(id, this.stored.delete(tenant, responseId, { cascade: false }, within));
    return { id, object: 'chat.completion.deleted', deleted: true };
  }

  /** The response of a completion, which has an answer: it has ended, and not failed. Throws ApiError 404, which names the completion. */
  private async find(tenant: Tenant, id: string, within: string | undefined): Promise<ResponseObject> {
    const responseId = toResponseId(id);
    if (responseId === null) throw ApiError.notFound('Completion', id);
    const response = await naming(id, this.stored.retrieve(tenant, responseId, within));
    if (response.status !== 'completed' && response.status !== 'incomplete') throw ApiError.notFound('Completion', id);
    return response;
  }

  private translate(body: unknown, headers: Parameters): ChatRequest {
    return new ChatRequest(body, {
      ...this.unknownFields.options(),
      forwarded: this.providers.forwarded,
      forwardedTo: (model) => this.providers.forwardedTo(model),
      storesByDefault: storesByDefault(this.environment, headers),
    });
  }
}

/** What is not found is the completion, not its response. */
async function naming<T>(id: string, found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof ApiError && error.status === 404 ? ApiError.notFound('Completion', id) : error;
  }
}
