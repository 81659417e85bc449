import { Body, Controller, Headers, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath } from '../../http/index.js';
import { COUNTED_MEMBERS, InputTokensBody, RequestValidator } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import { activate, HalfClosedClients } from './client-connection.js';
import { TURN_ERRORS } from './turn-errors.js';

/** The body of an answer (protocol §1.1). */
export interface CountedInput {
  readonly object: 'response.input_tokens';
  readonly input_tokens: number;
}

/** `POST /responses/input_tokens`: the tokens of a request that is not run (protocol §1.1). */
@Controller(apiPath('responses/input_tokens'))
@UseGuards(ApiKeyGuard)
export class InputTokensController {
  constructor(
    private readonly validator: RequestValidator,
    private readonly responses: ResponsesService,
    private readonly halfClosed: HalfClosedClients,
  ) {}

  @Describe(() => ({
    id: 'countInputTokens',
    group: 'Responses',
    summary: 'Counts the input tokens of a request without running it.',
    body: {
      of: InputTokensBody,
      only: COUNTED_MEMBERS,
      examples: { 'A text': { model: 'gpt-5', input: 'How many tokens are these?' } },
    },
    headers: ['x-session-id'],
    answer: 'InputTokens',
    errors: TURN_ERRORS,
    missing: ['Conversation', 'Item'],
  }))
  @Post()
  @HttpCode(200)
  async count(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CountedInput | undefined> {
    const admitted = this.responses.admit(this.validator.checkCount(body, caller), caller, { headers });
    const turn = activate(admitted, reply, { transport: 'json', halfClosed: this.halfClosed });
    const tokens = await this.responses.countInput(turn);
    return tokens === undefined ? undefined : { object: 'response.input_tokens', input_tokens: tokens };
  }
}
