import { Controller, Get, Headers, Param, Query, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { apiPaths, readPageQuery } from '../http/index.js';
import type { ListObject, ResponseWithText } from '../protocol/index.js';
import { readSessionId } from '../sessions/index.js';
import { GraphService, type TreeObject } from './graph.service.js';
import { oneSession, readListQuery, readTreeQuery } from './list-query.js';

type Parameters = Readonly<Record<string, unknown>>;
type ResponseList = Promise<ListObject<ResponseWithText>>;

/**
 * `GET /responses`, and the responses linked by `previous_response_id`, for tools that show them as threads or trees.
 */
@Controller(apiPaths('responses'))
@UseGuards(ApiKeyGuard)
export class GraphController {
  constructor(private readonly graph: GraphService) {}

  @Get()
  list(@Query() query: Parameters, @Headers() headers: Parameters, @CurrentCaller() { tenant }: Caller): ResponseList {
    const { filter, page } = readListQuery(query);
    const sessionId = oneSession(filter.sessionId, readSessionId(headers));
    return this.graph.list(tenant, { ...filter, ...(sessionId === undefined ? {} : { sessionId }) }, page);
  }

  @Get(':id/children')
  children(
    @Param('id') id: string,
    @Query() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('children', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Get(':id/siblings')
  siblings(
    @Param('id') id: string,
    @Query() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('siblings', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Get(':id/leaves')
  leaves(
    @Param('id') id: string,
    @Query() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): ResponseList {
    return this.graph.around('leaves', tenant, id, readPageQuery(query), readSessionId(headers));
  }

  @Get(':id/tree')
  tree(
    @Param('id') id: string,
    @Query() query: Parameters,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<TreeObject> {
    return this.graph.tree(tenant, id, readTreeQuery(query), readSessionId(headers));
  }
}
