import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { MessageTokensCount } from '@anthropic-ai/sdk/resources/messages';
import type { FastifyReply } from 'fastify';

import { type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath } from '../../http/index.js';
import { TURN_ERRORS } from '../../responses/index.js';
import { BehindDoor } from '../door.js';
import { type DoorDialect, DoorTurns } from '../door-turns.js';
import { toMessage } from './answer.js';
import { anthropicForm } from './errors.js';
import { MessageStream } from './events.js';
import { CountTokensBody, MessagesBody } from './messages-body.js';
import { translateCount, translateMessages, type Translation } from './request.js';

const MESSAGES = [{ role: 'user', content: 'What is the weather in Lisbon?' }];

/** Bodies of `POST /messages` for the API description. */
const MESSAGE_EXAMPLES: Readonly<Record<string, object>> = {
  'A text': { model: 'gpt-5', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] },
  'A tool': {
    model: 'gpt-5',
    max_tokens: 1024,
    system: 'Answer in one sentence.',
    messages: MESSAGES,
    tools: [
      {
        name: 'get_weather',
        description: 'The weather of a city.',
        input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
    tool_choice: { type: 'auto' },
  },
};

/** Bodies of `POST /messages/count_tokens`. */
const COUNT_EXAMPLES: Readonly<Record<string, object>> = { 'A text': { model: 'gpt-5', messages: MESSAGES } };

type Parameters = Readonly<Record<string, unknown>>;

const MESSAGES_DIALECT: DoorDialect<Translation> = {
  door: 'messages',
  translate: translateMessages,
  toStream: (translated, admitted) => new MessageStream(translated, admitted),
  toAnswer: (response, { answer }) => toMessage(response, answer),
};

/** `POST /messages` and `/messages/count_tokens`: the API of Anthropic (docs/doors.md). */
@Controller(apiPath('messages'))
@BehindDoor('messages')
export class MessagesController {
  constructor(private readonly turns: DoorTurns) {}

  @Describe(() => ({
    id: 'createMessage',
    group: 'Messages',
    summary: 'Runs a turn for a client of Anthropic: returns a message, or a stream of its events.',
    body: { of: MessagesBody, examples: MESSAGE_EXAMPLES },
    headers: ['x-session-id', 'x-response-ttl'],
    answer: 'AnthropicMessage',
    streams: 'AnthropicEvent',
    errorAnswer: 'AnthropicError',
    isTurn: true,
    errors: TURN_ERRORS,
  }))
  @Post()
  @HttpCode(200)
  @RouteConfig({ errorForm: anthropicForm })
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    this.begin(caller, headers, reply);
    await this.turns.answer({ body, caller, headers, reply }, MESSAGES_DIALECT);
  }

  @Describe(() => ({
    id: 'countMessageTokens',
    group: 'Messages',
    summary: 'Counts the input tokens of a request without running it.',
    body: { of: CountTokensBody, examples: COUNT_EXAMPLES },
    headers: ['x-session-id'],
    answer: 'AnthropicTokens',
    errorAnswer: 'AnthropicError',
    errors: TURN_ERRORS,
  }))
  @Post('count_tokens')
  @HttpCode(200)
  @RouteConfig({ errorForm: anthropicForm })
  async count(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MessageTokensCount | undefined> {
    this.begin(caller, headers, reply);
    const tokens = await this.turns.count({ body, caller, headers, reply }, translateCount);
    return tokens === undefined ? undefined : { input_tokens: tokens };
  }

  /** What is the same for every request: the id of the answer, and that betas of Anthropic have no effect. */
  private begin({ requestId }: Caller, { 'anthropic-beta': betas }: Parameters, reply: FastifyReply): void {
    void reply.header('request-id', requestId);
    if (typeof betas !== 'string') return;
    for (const beta of betas.split(',')) if (beta.trim() !== '') this.turns.ignore(beta.trim());
  }
}
