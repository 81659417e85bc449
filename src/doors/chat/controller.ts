import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../api-description/index.js';
import { Environment } from '../../config/index.js';
import { apiPaths, UnknownFields } from '../../http/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { HttpTurns, transportOf, TURN_ERRORS } from '../../responses/index.js';
import { BehindDoor, storesByDefault, withDoorTools } from '../door.js';
import { ChatCompletionBody } from './body.js';
import { ChatChunks } from './chunks.js';
import { toCompletion } from './completion.js';
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

/** `POST /chat/completions`: turns in the dialect of Chat Completions (docs/doors-chat.md). */
@Controller(apiPaths('chat/completions'))
@BehindDoor('chat')
export class ChatController {
  constructor(
    private readonly turns: HttpTurns,
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

  private translate(body: unknown, headers: Parameters): ChatRequest {
    return new ChatRequest(body, {
      ...this.unknownFields.options(),
      forwarded: this.providers.forwarded,
      forwardedTo: (model) => this.providers.forwardedTo(model),
      withTools: (tools) => withDoorTools(this.environment, tools),
      storesByDefault: storesByDefault(this.environment, headers),
    });
  }
}
