import { Body, Controller, Delete, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery, UnknownFields } from '../../http/index.js';
import type { Item, ListObject } from '../../protocol/index.js';
import { IncludeParameters, ItemsParameters, validateIncludeQuery, validateItemsQuery } from '../../responses/index.js';
import type { ConversationRecord } from '../../state/index.js';
import {
  AddItemsBody,
  CreateConversationBody,
  UpdateConversationBody,
  validateAddItems,
  validateCreateConversation,
  validateUpdateConversation,
} from './conversation-bodies.js';
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
@Controller(apiPath('conversations'))
@UseGuards(ApiKeyGuard)
export class ConversationsController {
  constructor(
    private readonly conversations: ConversationsService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createConversation',
    group: 'Conversations',
    summary: 'Creates a conversation.',
    body: {
      of: CreateConversationBody,
      isOptional: true,
      examples: {
        'With an item': {
          items: [{ type: 'message', role: 'user', content: 'My name is Ada.' }],
          metadata: { topic: 'names' },
        },
      },
    },
    answer: 'Conversation',
    errors: ['invalid_encrypted_content', 'invalid_function_parameters'],
  }))
  @Post()
  @HttpCode(200)
  async create(@Body() body: unknown, @CurrentCaller() { tenant }: Caller): Promise<ConversationObject> {
    const request = validateCreateConversation(body, this.unknownFields.options());
    return toObject(await this.conversations.create(tenant, request));
  }

  @Describe(() => ({
    id: 'getConversation',
    group: 'Conversations',
    summary: 'Returns a conversation.',
    answer: 'Conversation',
    missing: ['Conversation'],
  }))
  @Get(':id')
  async retrieve(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<ConversationObject> {
    return toObject(await this.conversations.get(tenant, id));
  }

  @Describe(() => ({
    id: 'updateConversation',
    group: 'Conversations',
    summary: 'Replaces the metadata of a conversation.',
    body: { of: UpdateConversationBody, examples: { 'New metadata': { metadata: { topic: 'weather' } } } },
    answer: 'Conversation',
    missing: ['Conversation'],
  }))
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

  @Describe(() => ({
    id: 'deleteConversation',
    group: 'Conversations',
    summary: 'Deletes a conversation.',
    answer: 'DeletedConversation',
    errors: ['conversation_locked'],
    missing: ['Conversation'],
  }))
  @Delete(':id')
  async delete(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<DeletedConversation> {
    await this.conversations.delete(tenant, id);
    return { id, object: 'conversation.deleted', deleted: true };
  }

  @Describe(() => ({
    id: 'createConversationItems',
    group: 'Conversations',
    summary: 'Appends items to a conversation, and returns them.',
    body: {
      of: AddItemsBody,
      examples: { 'A message': { items: [{ type: 'message', role: 'user', content: 'My name is Ada.' }] } },
    },
    query: IncludeParameters,
    answer: 'ItemList',
    errors: ['conversation_locked', 'invalid_encrypted_content', 'invalid_function_parameters'],
    missing: ['Conversation'],
  }))
  @Post(':id/items')
  @HttpCode(200)
  addItems(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Item>> {
    validateIncludeQuery(query);
    const { items } = validateAddItems(body, this.unknownFields.options());
    return this.conversations.addItems(tenant, id, items);
  }

  @Describe(() => ({
    id: 'listConversationItems',
    group: 'Conversations',
    summary: 'Lists the items of a conversation.',
    query: ItemsParameters,
    answer: 'ItemList',
    missing: ['Conversation'],
  }))
  @Get(':id/items')
  items(
    @Param('id') id: string,
    @KnownQuery() query: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Item>> {
    return this.conversations.items(tenant, id, validateItemsQuery(query));
  }

  @Describe(() => ({
    id: 'getConversationItem',
    group: 'Conversations',
    summary: 'Returns an item of a conversation.',
    query: IncludeParameters,
    answer: 'Item',
    missing: ['Conversation', 'Item'],
  }))
  @Get(':id/items/:itemId')
  item(
    @Param('id') id: string,
    @Param('itemId') itemId: string,
    @KnownQuery() query: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<Item> {
    validateIncludeQuery(query);
    return this.conversations.item(tenant, id, itemId);
  }

  @Describe(() => ({
    id: 'deleteConversationItem',
    group: 'Conversations',
    summary: 'Deletes an item of a conversation, and returns the conversation.',
    answer: 'Conversation',
    errors: ['conversation_locked'],
    missing: ['Conversation', 'Item'],
  }))
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
