import { Body, Controller, Headers, HttpCode, Logger, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { MessageTokensCount } from '@anthropic-ai/sdk/resources/messages';
import type { FastifyReply } from 'fastify';

import { type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../api-description/index.js';
import { Environment } from '../../config/index.js';
import { apiPaths, UnknownFields } from '../../http/index.js';
import { quote } from '../../logging/index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { HttpTurns, transportOf, TURN_ERRORS } from '../../responses/index.js';
import { IgnoredMembers } from '../../validation/index.js';
import { BehindDoor, storesByDefault, withDoorTools } from '../door.js';
import { toMessage } from './answer.js';
import { anthropicForm } from './errors.js';
import { MessageStream } from './events.js';
import { CountTokensBody, MessagesBody } from './messages-body.js';
import { translateCount, translateMessages, type TranslationOptions, WITHOUT_EFFECT } from './request.js';

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

/** `POST /messages` and `/messages/count_tokens`: the API of Anthropic (docs/doors.md). */
@Controller(apiPaths('messages'))
@BehindDoor('messages')
export class MessagesController {
  private readonly logger = new Logger('Messages');
  private readonly ignored = new IgnoredMembers((name) =>
    this.logger.warn(`requests ask for ${quote(name)}, which has no effect here; it is ignored`),
  );

  constructor(
    private readonly turns: HttpTurns,
    private readonly providers: ProviderRegistry,
    private readonly unknownFields: UnknownFields,
    private readonly environment: Environment,
  ) {}

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
    const transport = transportOf(body);
    const { admitted, translated } = this.turns.admitTranslated(body, { caller, headers, transport }, (given) =>
      translateMessages(given, this.optionsFor(headers)),
    );
    void reply.header('request-id', caller.requestId);
    try {
      if (transport === 'sse') {
        await this.turns.stream(admitted, reply, new MessageStream(translated, caller.requestId), 'messages');
        return;
      }
      const ended = await this.turns.run(admitted, reply, 'messages');
      if (ended === undefined) return;
      await this.turns.send(reply, JSON.stringify(toMessage(ended.response, translated.answer)));
    } catch (error) {
      throw translated.explain(error) as Error;
    }
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
    void reply.header('request-id', caller.requestId);
    const translated = translateCount(body, this.optionsFor(headers));
    try {
      const tokens = await this.turns.count(translated.body, { caller, headers, transport: 'json' }, reply);
      return tokens === undefined ? undefined : { input_tokens: tokens };
    } catch (error) {
      throw translated.explain(error) as Error;
    }
  }

  private optionsFor(headers: Parameters): TranslationOptions {
    const ignore = (name: string): void => {
      if (!this.ignored.has(name, WITHOUT_EFFECT)) this.ignored.add(name, WITHOUT_EFFECT);
    };
    const { 'anthropic-beta': betas } = headers;
    if (typeof betas === 'string') for (const beta of betas.split(',')) ignore(beta.trim());
    return {
      check: this.unknownFields.options(),
      effortsOf: (model) => this.providers.effortsOf(model),
      withTools: (tools) => withDoorTools(this.environment, tools),
      store: storesByDefault(this.environment, headers),
      ignore,
    };
  }
}
