import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { Describe } from '../api-description/index.js';
import { Environment } from '../config/index.js';
import { apiPaths, UnknownFields } from '../http/index.js';
import { ApiError } from '../protocol/index.js';
import { SocketTokenBody, validateSocketToken } from './socket-token-body.js';
import { SocketTokens } from './socket-tokens.js';

/** A token with which a web page opens a socket. */
export interface SocketTokenObject {
  readonly object: 'socket_token';
  readonly value: string;
  /** Unix seconds. */
  readonly expires_at: number;
  readonly origin: string;
}

/** `POST /socket_tokens`; 404 with SOCKET_TOKEN_TTL=0. */
@Controller(apiPaths('socket_tokens'))
@UseGuards(ApiKeyGuard)
export class SocketTokensController {
  constructor(
    private readonly tokens: SocketTokens,
    private readonly environment: Environment,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createSocketToken',
    group: 'Access',
    summary: 'Makes a token with which a web page opens one WebSocket.',
    body: { of: SocketTokenBody, examples: { 'For a page': { origin: 'https://app.example.com', expires_in: 30 } } },
    answer: 'SocketToken',
    errors: ['unknown_url'],
  }))
  @Post()
  @HttpCode(200)
  async create(@Body() body: unknown, @CurrentCaller() caller: Caller): Promise<SocketTokenObject> {
    const { SOCKET_TOKEN_TTL: longest } = this.environment;
    if (longest === 0) throw ApiError.of('unknown_url', 'This server makes no socket tokens.');
    const { origin, expires_in: seconds } = validateSocketToken(body, longest, this.unknownFields.options());
    const { value, expiresAt } = await this.tokens.mint(caller, origin, seconds ?? longest);
    return { object: 'socket_token', value, expires_at: Math.floor(expiresAt / 1000), origin };
  }
}
