import { Body, Controller, Headers, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { apiPaths } from '../../http/index.js';
import { RequestValidator } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import { activate } from './client-connection.js';

/** The body of an answer (protocol §1.1). */
export interface CountedInput {
  readonly object: 'response.input_tokens';
  readonly input_tokens: number;
}

/** `POST /responses/input_tokens`: the tokens of a request that is not run (protocol §1.1). */
@Controller(apiPaths('responses/input_tokens'))
@UseGuards(ApiKeyGuard)
export class InputTokensController {
  constructor(
    private readonly validator: RequestValidator,
    private readonly responses: ResponsesService,
  ) {}

  @Post()
  @HttpCode(200)
  async count(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CountedInput | undefined> {
    const admitted = this.responses.admit(this.validator.checkCount(body), caller, { headers });
    const turn = activate(admitted, reply, 'json');
    const tokens = await this.responses.countInput(turn);
    return tokens === undefined ? undefined : { object: 'response.input_tokens', input_tokens: tokens };
  }
}
