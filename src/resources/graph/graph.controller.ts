import { Controller, Get, Headers, Param, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery, PageParameters, readPageQuery } from '../../http/index.js';
import type { ListObject, ResponseWithText } from '../../protocol/index.js';
import { readSessionId } from '../sessions/index.js';
import { GraphService, type TreeObject } from './graph.service.js';
import { ListParameters, oneSession, readListQuery, readTreeQuery, TreeParameters } from './list-query.js';

type Parameters = Readonly<Record<string, unknown>>;
type ResponseList = Promise<ListObject<ResponseWithText>>;

/**
 * `GET /responses`, and the responses linked by `previous_response_id`, for tools that show them as threads or trees.
 */
@Controller(apiPath('responses'))
@UseGuards(ApiKeyGuard)
export class GraphController {
  constructor(private readonly graph: GraphService) {}

  @Describe(() => ({
    id: 'listResponses',
    group: 'Graph',
    summary: 'Lists stored responses.',
    description: 'With an upgrade to WebSocket, this path takes sockets: `/asyncapi.json` describes them.',
    query: ListParameters,
    headers: ['x-session-id'],
    answer: 'ResponseList',
  }))
  @Get()
  list(
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    const { filter, page } = readListQuery(query);
    const sessionId = oneSession(filter.sessionId, readSessionId(headers));
    return this.graph.list(tenant, { ...filter, ...(sessionId === undefined ? {} : { sessionId }) }, page);
  }

  @Describe(() => ({
    id: 'listChildren',
    group: 'Graph',
    summary: 'Lists the children of a response.',
    query: PageParameters,
    headers: ['x-session-id'],
    answer: 'ResponseList',
    missing: ['Response'],
  }))
  @Get(':id/children')
  children(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('children', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Describe(() => ({
    id: 'listSiblings',
    group: 'Graph',
    summary: 'Lists the siblings of a response.',
    query: PageParameters,
    headers: ['x-session-id'],
    answer: 'ResponseList',
    missing: ['Response'],
  }))
  @Get(':id/siblings')
  siblings(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('siblings', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Describe(() => ({
    id: 'listLeaves',
    group: 'Graph',
    summary: 'Lists the leaves of a response.',
    query: PageParameters,
    headers: ['x-session-id'],
    answer: 'ResponseList',
    missing: ['Response'],
  }))
  @Get(':id/leaves')
  leaves(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('leaves', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Describe(() => ({
    id: 'getTree',
    group: 'Graph',
    summary: 'Returns a response and what continues it, as a tree.',
    query: TreeParameters,
    headers: ['x-session-id'],
    answer: 'ResponseTree',
    errors: ['graph_too_large'],
    missing: ['Response'],
  }))
  @Get(':id/tree')
  tree(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<TreeObject> {
    return this.graph.tree(tenant, id, readTreeQuery(query), readSessionId(headers));
  }
}
