import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import {
  ApiError,
  type Item,
  type Origin,
  refuseMisplacedTrigger,
  type ResponseObject,
  withoutUpstream,
} from '../protocol/index.js';
import { type ConversationPlace, ResponseStore } from '../state/index.js';
import { Clock, isPromise, type MaybePromise } from '../time/index.js';
import type { Continuation, Continuations } from './continuation.js';
import type { ReadConversation } from './conversation-gate.js';
import { Transcript } from './transcript.js';

/** The context of a turn: the transcript including its own input, and the response it continues, if any. */
export interface TurnContext {
  /** The request's input with its references resolved. */
  readonly input: readonly Item[];
  readonly transcript: Transcript;
  readonly parent: Continuation | null;
  /** The conversation that the turn belongs to, as it was read. */
  readonly conversation: ConversationPlace | null;
}

/** Where to look for a turn's context. */
export interface ContextScope {
  /** The session that the turn names; responses outside of it are not found. */
  readonly within?: string | undefined;
  /** The cache of the connection; it takes precedence over the store (protocol §6.6). */
  readonly remembered?: Continuations | undefined;
}

/** What a turn continues: a response, a conversation that was read, or nothing. */
export type History = string | ReadConversation | null;

/** Resolves the context of a turn: a chain of responses or a conversation, then the input (protocol §9). */
@Injectable()
export class ContextResolver {
  constructor(
    private readonly store: ResponseStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Resolves and checks the whole context, synchronously when no store access is needed. Throws ApiError 400
   * `previous_response_not_found` when the parent is missing, belongs to another tenant or cannot be continued, 404 for
   * an `item_reference` that is not found, and the pairing errors of protocol §3.1.
   */
  resolve(
    tenant: Tenant,
    history: History,
    items: readonly Item[],
    scope: ContextScope = {},
  ): MaybePromise<TurnContext> {
    if (history !== null && typeof history !== 'string') {
      if (!items.some(isReference)) return inConversation(history, items);
      return this.resolveReferences(tenant, items, scope).then((found) => inConversation(history, found));
    }
    const parent = history === null ? null : this.parent(tenant, history, scope);
    if (isPromise(parent) || items.some(isReference)) return this.wait(tenant, parent, items, scope);
    return toContext(parent, items);
  }

  private async wait(
    tenant: Tenant,
    parent: MaybePromise<Continuation | null>,
    items: readonly Item[],
    scope: ContextScope,
  ): Promise<TurnContext> {
    return toContext(await parent, await this.resolveReferences(tenant, items, scope));
  }

  /** The response that a turn continues, from the cache of the connection or from the store. */
  private parent(tenant: Tenant, responseId: string, scope: ContextScope): MaybePromise<Continuation> {
    return this.remembered(responseId, scope) ?? this.stored(tenant, responseId, scope);
  }

  private async stored(tenant: Tenant, responseId: string, { within }: ContextScope): Promise<Continuation> {
    const chain = await this.store.chain(tenant, responseId, within);
    if (chain !== undefined) {
      const { items, ...known } = chain;
      return { ...known, origin: originOf(chain), transcript: Transcript.of(items), conversation: null };
    }
    const response = await this.store.get(tenant, responseId, within);
    throw unusableParent(responseId, response?.status);
  }

  /** The cached response; undefined when the store must be asked. */
  private remembered(responseId: string, { within, remembered }: ContextScope): Continuation | undefined {
    const known = remembered?.find(responseId);
    if (known === undefined) return undefined;
    const isWithin = within === undefined || known.sessionId === within;
    const isAlive = (known.expiresAt ?? Infinity) > this.clock.now();
    // Items of its conversation may be deleted, of which only the store knows. The store also has forks into the session.
    return isWithin && isAlive && !known.isInConversation ? known : undefined;
  }

  /** Replaces `item_reference`s with the stored items (protocol §3.1). Throws ApiError 404, and 400 for a misplaced trigger; both name `param`. */
  async resolveReferences(
    tenant: Tenant,
    items: readonly Item[],
    { within }: ContextScope = {},
    param: 'input' | 'items' = 'input',
  ): Promise<readonly Item[]> {
    const ids = items.filter(isReference).map(({ id }) => id);
    if (ids.length === 0) return items;
    const found = await this.store.items(tenant, ids, within);
    const resolved = items.map((item) =>
      isReference(item) ? (found.get(item.id) ?? refuseReference(item.id, param)) : item,
    );
    refuseMisplacedTrigger(resolved, param);
    return resolved;
  }
}

function toContext(parent: Continuation | null, input: readonly Item[]): TurnContext {
  return { input, transcript: (parent?.transcript ?? Transcript.of([])).accept(input), parent, conversation: null };
}

function inConversation({ id, version, transcript, parent }: ReadConversation, input: readonly Item[]): TurnContext {
  return { input, transcript: transcript.accept(input), parent, conversation: { id, version } };
}

/** The origin of a stored response. Its upstream may have items that were deleted from the conversation since. */
export function originOf({
  origin,
  isInConversation,
}: Pick<Continuation, 'origin' | 'isInConversation'>): Origin | null {
  return isInConversation ? withoutUpstream(origin) : origin;
}

function isReference({ type }: Item): boolean {
  return type === 'item_reference';
}

/** Told from a missing response: its client has seen the id, and would look for it in vain. */
function unusableParent(responseId: string, status?: ResponseObject['status']): ApiError {
  const what = `Previous response with id '${responseId}'`;
  const message = WHY_UNUSABLE[status ?? 'completed'] ?? 'not found.';
  return ApiError.of('previous_response_not_found', `${what} ${message}`, { param: 'previous_response_id' });
}

const UNFINISHED = 'has not finished yet. Wait until its status is completed or incomplete.';
const AGAIN = 'cannot be continued. Send its input again, with the previous_response_id that it had.';

const WHY_UNUSABLE: Partial<Record<ResponseObject['status'], string>> = {
  queued: UNFINISHED,
  in_progress: UNFINISHED,
  failed: `has failed and ${AGAIN}`,
  cancelled: `was cancelled and ${AGAIN}`,
};

function refuseReference(id: string, param: string): never {
  throw new ApiError(
    404,
    'invalid_request_error',
    null,
    param,
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
  );
}
