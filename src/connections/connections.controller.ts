import { Controller, Delete, Get, Param, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope, type Tenant } from '../access/index.js';
import { Describe } from '../http/api-description/index.js';
import { Environment } from '../config/index.js';
import { apiPath } from '../http/index.js';
import { ApiError, type ListObject, toListObject } from '../protocol/index.js';
import { Siblings, type SiblingTopic } from '../operations/siblings/index.js';
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

/** `/connections`: the caller's connections to this instance, whichever of its workers has them. */
@Controller(apiPath('connections'))
@UseGuards(ApiKeyGuard)
export class ConnectionsController {
  private readonly lists: SiblingTopic<Tenant, readonly ConnectionBody[]>;
  private readonly retirements: SiblingTopic<{ readonly tenant: Tenant; readonly id: string }, boolean>;

  constructor(
    private readonly registry: ConnectionRegistry,
    private readonly environment: Environment,
    siblings: Siblings,
  ) {
    this.lists = siblings.topic('connections', (tenant) => this.own(tenant));
    this.retirements = siblings.topic('retirement of a connection', ({ tenant, id }) => this.retireOwn(tenant, id));
  }

  @Describe(() => ({
    id: 'listConnections',
    group: 'Connections',
    summary: "Lists the caller's WebSockets on this instance.",
    description: 'Those of all its workers; one that does not answer within a second is left out.',
    answer: 'ConnectionList',
  }))
  @Get()
  async list(@CurrentCaller() { tenant }: Caller): Promise<ListObject<ConnectionBody>> {
    const { replies } = await this.lists.ask(tenant);
    const all = [...this.own(tenant), ...replies.flat()];
    return toListObject(
      all.toSorted((one, other) => one.since - other.since),
      false,
    );
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
  async retire(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<RetiredConnection> {
    const isRetired = this.retireOwn(tenant, id) || (await this.retirements.ask({ tenant, id })).replies.includes(true);
    if (!isRetired) throw ApiError.notFound('Connection', id);
    return { id, object: 'connection', deleted: true };
  }

  private own(tenant: Tenant): readonly ConnectionBody[] {
    return this.registry.list(tenant).map(toBody);
  }

  private retireOwn(tenant: Tenant, id: string): boolean {
    return this.registry.retire(tenant, id, retired(this.environment));
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
