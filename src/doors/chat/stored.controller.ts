import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post } from '@nestjs/common';
import { IsOptional, IsString, MinLength } from 'class-validator';
import type { ChatCompletionDeleted } from 'openai/resources/chat/completions';

import { type Caller, CurrentCaller, type Tenant } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import {
  apiPath,
  ForwardParameters,
  KnownQuery,
  metadataFilter,
  metadataIn,
  toForwardParameters,
  UnknownFields,
} from '../../http/index.js';
import { ApiError, type Item, type ListObject, type ResponseObject, toListObject } from '../../protocol/index.js';
import { metadata, StoredResponsesService } from '../../responses/index.js';
import { readSessionId } from '../../resources/sessions/index.js';
import { type PageRequest, type ResponseFilter, ResponseGraph } from '../../state/index.js';
import { Closed, IsNullable, type Query, queryCheckOf, Satisfies, validatorOf } from '../../validation/index.js';
import { BehindDoor } from '../door.js';
import { ANSWERED, type Completion, toCompletion, toResponseId } from './completion.js';
import { type StoredMessage, toStoredMessages } from './stored-message.js';

type Parameters = Readonly<Record<string, unknown>>;

/** Pages of items that are read for one of messages, unless nothing is found in them. */
const MOST_READS = 10;
const LONGEST_PAGE = 100;

/** The query of the list of completions. */
class ChatListParameters extends ForwardParameters {
  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly model?: string;

  /** As `metadata[name]=value`. */
  @IsOptional()
  @Satisfies(metadataFilter)
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The body of `POST /chat/completions/{id}`. */
@Closed()
class UpdateChatCompletionBody {
  @IsNullable()
  @Satisfies(metadata)
  readonly metadata!: Readonly<Record<string, string>> | null;
}

const checkUpdate = validatorOf(UpdateChatCompletionBody);
const checkPage = queryCheckOf(ForwardParameters);
const checkList = queryCheckOf(ChatListParameters);

/** What is stored below `/chat/completions`. A completion is a response that has ended with an answer, by whatever door it came. */
@Controller(apiPath('chat/completions'))
@BehindDoor('chat')
export class StoredChatController {
  constructor(
    private readonly stored: StoredResponsesService,
    private readonly graph: ResponseGraph,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'listChatCompletions',
    group: 'Chat Completions',
    summary: 'Lists stored completions.',
    query: ChatListParameters,
    headers: ['x-session-id'],
    answer: 'ChatCompletionList',
  }))
  @Get()
  async list(
    @KnownQuery() query: Query,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<Completion>> {
    const parameters = readListQuery(query);
    const { limit, order, after, model, metadata: pairs } = parameters;
    const sessionId = readSessionId(headers);
    const filter: ResponseFilter = {
      statuses: ANSWERED,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(model === undefined ? {} : { model }),
      ...(pairs === undefined ? {} : { metadata: pairs }),
    };
    const page = { limit, order, ...(after === undefined ? {} : { after: cursorOf(after) }) };
    const { data, hasMore } = await this.graph.list(tenant, filter, page);
    return toListObject(
      data.map((response) => toCompletion(response)),
      hasMore,
    );
  }

  @Describe(() => ({
    id: 'getChatCompletion',
    group: 'Chat Completions',
    summary: 'Returns a stored completion.',
    headers: ['x-session-id'],
    answer: 'ChatCompletion',
    missing: ['Completion'],
  }))
  @Get(':id')
  async retrieve(
    @Param('id') id: string,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<Completion> {
    return toCompletion(await this.find(tenant, id, readSessionId(headers)));
  }

  @Describe(() => ({
    id: 'listChatMessages',
    group: 'Chat Completions',
    summary: 'Lists the messages of the request of a stored completion.',
    query: ForwardParameters,
    headers: ['x-session-id'],
    answer: 'ChatMessageList',
    missing: ['Completion'],
  }))
  @Get(':id/messages')
  async messages(
    @Param('id') id: string,
    @KnownQuery() query: Query,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<StoredMessage>> {
    const within = readSessionId(headers);
    const page = checkPage(toPage(query));
    const { id: responseId } = await this.find(tenant, id, within);
    return collect(page, (asked) => naming(id, this.stored.inputItems(tenant, responseId, asked, within)));
  }

  @Describe(() => ({
    id: 'updateChatCompletion',
    group: 'Chat Completions',
    summary: 'Replaces the metadata of a stored completion.',
    body: { of: UpdateChatCompletionBody, examples: { 'New metadata': { metadata: { topic: 'weather' } } } },
    headers: ['x-session-id'],
    answer: 'ChatCompletion',
    missing: ['Completion'],
  }))
  @Post(':id')
  @HttpCode(200)
  async update(
    @Param('id') id: string,
    @Body() body: unknown,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<Completion> {
    const { metadata: pairs } = checkUpdate(body, this.unknownFields.options());
    const within = readSessionId(headers);
    const { id: responseId } = await this.find(tenant, id, within);
    return toCompletion(await naming(id, this.stored.updateMetadata(tenant, responseId, pairs ?? {}, within)));
  }

  @Describe(() => ({
    id: 'deleteChatCompletion',
    group: 'Chat Completions',
    summary: 'Deletes a stored completion.',
    headers: ['x-session-id'],
    answer: 'DeletedChatCompletion',
    missing: ['Completion'],
  }))
  @Delete(':id')
  async delete(
    @Param('id') id: string,
    @Headers() headers: Parameters,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ChatCompletionDeleted> {
    const within = readSessionId(headers);
    const { id: responseId } = await this.find(tenant, id, within);
    await naming(id, this.stored.delete(tenant, responseId, { cascade: false }, within));
    return { id, object: 'chat.completion.deleted', deleted: true };
  }

  /** The response of a completion. Throws ApiError 404, which names the completion. */
  private async find(tenant: Tenant, id: string, within: string | undefined): Promise<ResponseObject> {
    const responseId = toResponseId(id);
    if (responseId === null) throw ApiError.notFound('Completion', id);
    const response = await naming(id, this.stored.retrieve(tenant, responseId, within));
    if (!ANSWERED.includes(response.status)) throw ApiError.notFound('Completion', id);
    return response;
  }
}

/** A page of messages, with one at least if there is any: clients go on behind the last element that they see. */
async function collect(
  page: PageRequest,
  read: (page: PageRequest) => Promise<ListObject<Item>>,
): Promise<ListObject<StoredMessage>> {
  const data: StoredMessage[] = [];
  let asked = page;
  for (let reads = 0; reads < MOST_READS || data.length === 0; reads += 1) {
    const left = page.limit - data.length;
    const { data: found, has_more: hasMore } = await read(asked);
    const picked = found.flatMap(toStoredMessages);
    data.push(...picked.slice(0, left));
    if (!hasMore && picked.length <= left) return toListObject(data, false);
    if (data.length === page.limit) break;
    asked = { ...page, limit: LONGEST_PAGE, after: found.at(-1)?.id ?? '' };
  }
  return toListObject(data, true);
}

/** What is not found is the completion, not its response. */
async function naming<T>(id: string, found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof ApiError && error.status === 404 ? ApiError.notFound('Completion', id) : error;
  }
}

/** OpenAI lists these from the oldest on. */
function toPage(query: Query): object {
  return toForwardParameters(query, 'asc');
}

function readListQuery(query: Query): ChatListParameters {
  const { model } = query;
  return checkList({ ...toPage(query), ...(model === undefined ? {} : { model }), ...metadataIn(query) });
}

function cursorOf(after: string): string {
  const responseId = toResponseId(after);
  if (responseId !== null) return responseId;
  const message = "Invalid 'after': expected the id of a completion, which begins with 'chatcmpl-'.";
  throw ApiError.of('invalid_value', message, { param: 'after' });
}
