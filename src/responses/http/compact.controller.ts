import { Body, Controller, Headers, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath } from '../../http/index.js';
import { type CompactedResponse, toCompactedResponse, toCompactionRequest } from '../compaction/compacted-response.js';
import { CompactRequestBody, RequestValidator } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import { activate, HalfClosedClients } from './client-connection.js';
import { TURN_ERRORS } from './turn-errors.js';

/** `POST /responses/compact`: a turn that ends in a compaction item, and of which nothing is stored (protocol §1.1). */
@Controller(apiPath('responses/compact'))
@UseGuards(ApiKeyGuard)
export class CompactController {
  constructor(
    private readonly validator: RequestValidator,
    private readonly responses: ResponsesService,
    private readonly halfClosed: HalfClosedClients,
  ) {}

  @Describe(() => ({
    id: 'compact',
    group: 'Responses',
    summary: 'Replaces a long context by the messages of the user and one item.',
    body: { of: CompactRequestBody, examples: { 'A text': { model: 'gpt-5', input: 'A long story.' } } },
    headers: ['x-session-id'],
    answer: 'CompactedResponse',
    isTurn: true,
    errors: TURN_ERRORS,
    missing: ['Conversation', 'Item'],
  }))
  @Post()
  @HttpCode(200)
  async compact(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CompactedResponse | undefined> {
    const request = toCompactionRequest(this.validator.checkCompactRequest(body));
    const admitted = this.responses.admit(request, caller, { headers, onlyReadsConversation: true });
    const turn = activate(admitted, reply, { transport: 'json', halfClosed: this.halfClosed });
    const ended = await this.responses.execute(turn, null);
    return ended && toCompactedResponse(ended);
  }
}
