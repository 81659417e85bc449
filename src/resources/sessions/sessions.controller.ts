import { Body, Controller, Delete, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery, PageParameters, readPageQuery, UnknownFields } from '../../http/index.js';
import type { ListObject, ResponseWithText } from '../../protocol/index.js';
import { ForkBody, validateForkBody } from './fork-body.js';
import { SessionsService } from './sessions.service.js';

/** The body of `POST /sessions/{id}/fork`. */
export interface ForkedSession {
  readonly id: string;
  readonly object: 'session';
  readonly forked_from: string;
  /** Number of shared responses. */
  readonly responses: number;
}

/** The body of `DELETE /sessions/{id}`. */
export interface DeletedSession {
  readonly id: string;
  readonly object: 'session';
  readonly deleted: true;
}

/** `/sessions`: sessions, named by turns with `x-session-id` or started by a first response. */
@Controller(apiPath('sessions'))
@UseGuards(ApiKeyGuard)
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'listSessionResponses',
    group: 'Sessions',
    summary: 'Lists the responses of a session.',
    query: PageParameters,
    answer: 'ResponseList',
    missing: ['Session'],
  }))
  @Get(':id/responses')
  responses(
    @Param('id') id: string,
    @KnownQuery() query: Readonly<Record<string, unknown>>,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<ResponseWithText>> {
    return this.sessions.responses(tenant, id, readPageQuery(query));
  }

  @Describe(() => ({
    id: 'forkSession',
    group: 'Sessions',
    summary: 'Creates a session that shares the responses of another one.',
    body: { of: ForkBody, examples: { 'All responses': { target_session_id: 'the-fork' } } },
    answer: 'ForkedSession',
    errors: ['session_exists', 'session_locked', 'session_limit_reached'],
    missing: ['Session', 'Response'],
  }))
  @Post(':id/fork')
  @HttpCode(200)
  async fork(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ForkedSession> {
    const request = validateForkBody(body, this.unknownFields.options());
    const responses = await this.sessions.fork(tenant, id, request);
    return { id: request.target_session_id, object: 'session', forked_from: id, responses };
  }

  @Describe(() => ({
    id: 'deleteSession',
    group: 'Sessions',
    summary: 'Deletes a session and its responses.',
    answer: 'DeletedSession',
    errors: ['session_locked'],
    missing: ['Session'],
  }))
  @Delete(':id')
  async delete(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<DeletedSession> {
    await this.sessions.delete(tenant, id);
    return { id, object: 'session', deleted: true };
  }
}
