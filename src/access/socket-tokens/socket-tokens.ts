import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { asTenant, type Caller, type Grant, permits, type Scope, SCOPES } from '../index.js';
import { ApiError } from '../../protocol/index.js';
import { type KeyRing, type OpenedSeal, Seals } from '../../context/seals/index.js';
import { andThen, Clock, type MaybePromise } from '../../time/index.js';

/** The subprotocol of the service, which it selects; the token is offered beside it. */
export const SUBPROTOCOL = 'antiphon';

/** How a subprotocol with a token begins. */
export const TOKEN_PREFIX = 'antiphon.token.';

/** What a socket needs. */
const SOCKET_SCOPES: ReadonlySet<Scope> = new Set(['responses:write', 'responses:read']);

/** Seals belong to tenants; whose a token is, only it says itself. */
const OF_ALL = asTenant('');

/** A token for a client. */
export interface MintedToken {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface TokenContents {
  readonly grant: Grant;
  readonly origin: string;
  readonly expiresAt: number;
}

/**
 * Tokens with which web pages open sockets: browsers cannot send headers with an upgrade. A token is sealed with the keys of the service, so
 * that every replica can read it and nothing is stored. It is bound to an origin, and short-lived.
 */
@Injectable()
export class SocketTokens {
  constructor(
    private readonly seals: Seals,
    private readonly clock: Clock,
  ) {}

  /** Makes a token that permits at most what its caller may do on a socket. Rejects with StoreUnavailableError. */
  mint(caller: Caller, origin: string, seconds: number): MaybePromise<MintedToken> {
    const { requestId: _requestId, connectionId: _connectionId, ...grant } = caller;
    const scopes = SCOPES.filter((scope) => SOCKET_SCOPES.has(scope) && permits(grant, scope));
    const expiresAt = Math.min(this.clock.now() + seconds * 1000, grant.expiresAt ?? Infinity);
    const contents: TokenContents = { grant: { ...grant, scopes }, origin, expiresAt };
    const seal = (ring: KeyRing): MintedToken => ({
      value: ring.seal(OF_ALL, 'socket', JSON.stringify(contents)),
      expiresAt,
    });
    const ring = this.seals.ring();
    return andThen(ring, seal);
  }

  /**
   * What the token of an upgrade permits; undefined when it has none. Throws ApiError 401 for one that is not valid, has expired, or was made
   * for another origin; StoreUnavailableError.
   */
  grantOf(headers: IncomingHttpHeaders): MaybePromise<Grant> | undefined {
    const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
    const token = offered.find((protocol) => protocol.startsWith(TOKEN_PREFIX))?.slice(TOKEN_PREFIX.length);
    if (token === undefined) return undefined;
    const open = (ring: KeyRing): Grant => this.check(ring.open(OF_ALL, 'socket', token), headers.origin);
    const ring = this.seals.ringFor([token]);
    return andThen(ring, open);
  }

  private check(opened: OpenedSeal, origin: string | undefined): Grant {
    if (typeof opened === 'string') throw ApiError.of('invalid_api_key', 'The socket token is not valid.');
    const { grant, origin: expected, expiresAt } = JSON.parse(opened.text) as TokenContents;
    if (expiresAt <= this.clock.now()) throw ApiError.of('invalid_api_key', 'The socket token has expired.');
    if (origin !== expected) {
      throw ApiError.of('invalid_api_key', 'The socket token was made for a web page of another origin.');
    }
    return grant;
  }
}
