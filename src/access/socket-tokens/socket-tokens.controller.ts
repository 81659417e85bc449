import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import { IsInt, IsOptional, IsString, Min } from 'class-validator';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../index.js';
import { Describe } from '../../http/api-description/index.js';
import { Environment } from '../../config/index.js';
import { apiPath, UnknownFields } from '../../http/index.js';
import { ApiError } from '../../protocol/index.js';
import { type CheckOptions, Closed, validatorOf } from '../../validation/index.js';
import { SocketTokens } from './socket-tokens.js';

/** The body of `POST /socket_tokens`. */
@Closed()
class SocketTokenBody {
  /** The origin of the page that will connect, such as `https://app.example.com`. */
  @IsString()
  readonly origin!: string;

  /** Seconds; by default SOCKET_TOKEN_TTL. */
  @IsOptional()
  @IsInt()
  @Min(1)
  readonly expires_in?: number | null;
}

const check = validatorOf(SocketTokenBody);

/** A token with which a web page opens a socket. */
export interface SocketTokenObject {
  readonly object: 'socket_token';
  readonly value: string;
  /** Unix seconds. */
  readonly expires_at: number;
  readonly origin: string;
}

/** `POST /socket_tokens`; 404 with SOCKET_TOKEN_TTL=0. */
@Controller(apiPath('socket_tokens'))
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

/** Checks a body and returns it. Throws ApiError 400 for the first violation; `longest` is that of `expires_in`, s. */
function validateSocketToken(body: unknown, longest: number, options: CheckOptions): SocketTokenBody {
  const request = check(body, options);
  const { origin, expires_in: seconds } = request;
  if (URL.parse(origin)?.origin !== origin) {
    const message = "Invalid value: 'origin' must be the origin of a web page, such as 'https://app.example.com'.";
    throw ApiError.of('invalid_value', message, { param: 'origin' });
  }
  if ((seconds ?? 0) > longest) {
    const message = `Invalid 'expires_in': integer above maximum value. Expected a value <= ${longest}, but got ${seconds} instead.`;
    throw ApiError.of('integer_above_max_value', message, { param: 'expires_in' });
  }
  return request;
}
