import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { apiPaths, UnknownFields } from '../http/index.js';
import type { Item, ListObject } from '../protocol/index.js';
import { validateIncludeQuery, validateItemsQuery } from '../responses/index.js';
import type { ConversationRecord } from '../state/index.js';
import { validateAddItems, validateCreateConversation, validateUpdateConversation } from './conversation-bodies.js';
import { ConversationsService } from './conversations.service.js';

/** A conversation as clients see it (protocol §1.2). */
export interface ConversationObject {
  readonly id: string;
  readonly object: 'conversation';
  /** Unix seconds. */
  readonly created_at: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The body of `DELETE /conversations/{id}`. */
export interface DeletedConversation {
  readonly id: string;
  readonly object: 'conversation.deleted';
  readonly deleted: true;
}

type Parameters = Readonly<Record<string, unknown>>;

/** `/conversations` and their items (protocol §1.2). */
@Controller(apiPaths('conversations'))
@UseGuards(ApiKeyGuard)
export class ConversationsController {
  constructor(
    private readonly conversations: ConversationsService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Post()
  @HttpCode(200)
  async create(@Body() body: unknown, @CurrentCaller() { tenant }: Caller): Promise<ConversationObject> {
    const request = validateCreateConversation(body, this.unknownFields.options());
    return toObject(await this.conversations.create(tenant, request));
  }

  @Get(':id')
  async retrieve(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<ConversationObject> {
    return toObject(await this.conversations.get(tenant, id));
  }

  @Post(':id')
  @HttpCode(200)
  async update(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ConversationObject> {
    const { metadata } = validateUpdateConversation(body, this.unknownFields.options());
    return toObject(await this.conversations.update(tenant, id, metadata));
  }

  @Delete(':id')
  async delete(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<DeletedConversation> {
    await this.conversations.delete(tenant, id);
    return { id, object: 'conversation.deleted', deleted: true };
  }

  @Post(':id/items')
  @HttpCode(200)
  addItems(
    @Param('id') id: string,
    @Query() query: Parameters,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Item>> {
    validateIncludeQuery(query);
    const { items } = validateAddItems(body, this.unknownFields.options());
    return this.conversations.addItems(tenant, id, items);
  }

  @Get(':id/items')
  items(
    @Param('id') id: string,
    @Query() query: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Item>> {
    return this.conversations.items(tenant, id, validateItemsQuery(query));
  }

  @Get(':id/items/:itemId')
  item(
    @Param('id') id: string,
    @Param('itemId') itemId: string,
    @Query() query: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<Item> {
    validateIncludeQuery(query);
    return this.conversations.item(tenant, id, itemId);
  }

  @Delete(':id/items/:itemId')
  async deleteItem(
    @Param('id') id: string,
    @Param('itemId') itemId: string,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ConversationObject> {
    return toObject(await this.conversations.deleteItem(tenant, id, itemId));
  }
}

function toObject({ id, createdAt, metadata }: ConversationRecord): ConversationObject {
  return { id, object: 'conversation', created_at: createdAt, metadata };
}
