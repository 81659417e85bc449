import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath } from '../../http/index.js';
import { TURN_ERRORS } from '../../responses/index.js';
import { BehindDoor } from '../door.js';
import { type DoorDialect, DoorTurns } from '../door-turns.js';
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

const CHAT: DoorDialect<ChatRequest> = {
  door: 'chat',
  translate: (body, options) => new ChatRequest(body, options),
  toStream: (request, admitted) => new ChatChunks(admitted, request),
  toAnswer: (response, { answer }) => toCompletion(response, answer.stops),
};

/** `POST /chat/completions`: turns in the dialect of Chat Completions (docs/doors-chat.md). */
@Controller(apiPath('chat/completions'))
@BehindDoor('chat')
export class ChatController {
  constructor(private readonly turns: DoorTurns) {}

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
    await this.turns.answer({ body, caller, headers, reply }, CHAT);
  }
}
