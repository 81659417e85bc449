import { Allow, IsBoolean, IsOptional } from 'class-validator';

import { sessionId } from '../../resources/sessions/index.js';
import { Satisfies } from '../../validation/index.js';
import { CreateRequestBody } from './create-request-body.js';

/**
 * A `response.create` without its envelope: the body of `POST /responses` and the members for sockets (protocol §6.2).
 */
export class CreateEventBody extends CreateRequestBody {
  // Taken off before, with the rest of the envelope: without it, a misspelt one would run its turn on the default lane.
  @Allow()
  readonly stream_id?: unknown;

  @IsOptional()
  @IsBoolean()
  readonly generate?: boolean | null;

  // Headers belong to the connection, so a turn names its session in the body (docs/decisions/2026-11-21-sessions.md).
  @IsOptional()
  @Satisfies(sessionId)
  readonly session_id?: string | null;
}
