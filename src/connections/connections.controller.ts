import { Controller, Delete, Get, Param, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope } from '../access/index.js';
import { Describe } from '../api-description/index.js';
import { Environment } from '../config/index.js';
import { apiPaths } from '../http/index.js';
import { ApiError, type ListObject, toListObject } from '../protocol/index.js';
import { retired } from './closing.js';
import type { Connection } from './connection.js';
import { ConnectionRegistry } from './connection-registry.js';
import type { LaneSummary } from './connection-work.js';

/** A connection of the caller. */
export interface ConnectionBody {
  readonly id: string;
  readonly object: 'connection';
  /** Unix seconds. */
  readonly since: number;
  readonly lanes: readonly LaneSummary[];
  /** Running turns, on all lanes. */
  readonly in_flight: number;
  /** Queued turns, on all lanes. */
  readonly queued: number;
}

/** The body of `DELETE /connections/{id}`. */
export interface RetiredConnection {
  readonly id: string;
  readonly object: 'connection';
  readonly deleted: true;
}

/** `/connections`: the caller's connections to this replica. */
@Controller(apiPaths('connections'))
@UseGuards(ApiKeyGuard)
export class ConnectionsController {
  constructor(
    private readonly registry: ConnectionRegistry,
    private readonly environment: Environment,
  ) {}

  @Describe(() => ({
    id: 'listConnections',
    group: 'Connections',
    summary: "Lists the caller's WebSockets on this replica.",
    answer: 'ConnectionList',
  }))
  @Get()
  list(@CurrentCaller() { tenant }: Caller): ListObject<ConnectionBody> {
    return toListObject(this.registry.list(tenant).map(toBody), false);
  }

  /** Retires a connection: running turns may complete, new ones are refused, then it is closed. */
  @Describe(() => ({
    id: 'retireConnection',
    group: 'Connections',
    summary: 'Retires a WebSocket: running turns may end, new ones are refused, then it is closed.',
    answer: 'RetiredConnection',
    missing: ['Connection'],
  }))
  @Delete(':id')
  @RequireScope('responses:write')
  retire(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): RetiredConnection {
    if (!this.registry.retire(tenant, id, retired(this.environment))) throw ApiError.notFound('Connection', id);
    return { id, object: 'connection', deleted: true };
  }
}

function toBody(connection: Connection): ConnectionBody {
  const lanes = connection.lanes();
  return {
    id: connection.id,
    object: 'connection',
    since: Math.floor(connection.since / 1000),
    lanes,
    in_flight: lanes.reduce((sum, lane) => sum + lane.in_flight, 0),
    queued: lanes.reduce((sum, lane) => sum + lane.queued, 0),
  };
}
