import { Injectable } from '@nestjs/common';

import { type Tenant, tenantKey } from '../access/index.js';
import { type HeldLock, WriteGate } from '../state/locks/index.js';
import { ApiError } from '../protocol/index.js';
import {
  type ConversationContext,
  conversationLock,
  type ConversationPlace,
  ConversationStore,
  type OpenedConversation,
} from '../state/index.js';
import type { Continuation } from './continuation.js';
import { Transcript } from './transcript.js';

/** A conversation that was read. */
export interface ReadConversation extends ConversationPlace {
  readonly transcript: Transcript;
  /** The latest response of the conversation, if the connection remembers it. */
  readonly parent: Continuation | null;
}

/** A conversation that is locked for a turn. */
export interface HeldConversation extends ReadConversation, HeldLock {}

/** How a conversation is opened. */
export interface ConversationWaiter {
  /** The latest response of the conversation that the connection remembers; not used if the conversation was changed since. */
  readonly known: Continuation | undefined;
  /** Longest wait for the lock, ms. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called when the lock is lost. */
  readonly onLost: () => void;
}

/** Opens conversations for turns: one turn at a time, on all replicas (protocol §1.2). */
@Injectable()
export class ConversationGate {
  constructor(
    private readonly gate: WriteGate,
    private readonly conversations: ConversationStore,
  ) {}

  /**
   * Locks a conversation and reads it; the lock is renewed until it is released. Throws ApiError 404 when it is not
   * found, and 400 `conversation_locked` when another turn has the lock for the longest wait.
   */
  async open(
    tenant: Tenant,
    id: string,
    { known, waitMs, signal, onLost }: ConversationWaiter,
  ): Promise<HeldConversation> {
    const tryAcquire = async (ttlMs: number): Promise<OpenedConversation | undefined> => {
      const opened = await this.conversations.open(tenant, id, { ttlMs, knownVersion: known?.conversation?.version });
      if (!('refused' in opened)) return opened;
      if (opened.refused === 'not_found') throw ApiError.notFound('Conversation', id);
      return undefined;
    };
    const key = tenantKey(tenant, conversationLock(id));
    let locked: ApiError | undefined;
    const refuse = (): ApiError => (locked = conversationLocked('conversation'));
    const holding = this.gate.hold({ key, tryAcquire, refuse, waitMs, signal, onLost });
    const { held, lease } = await holding.catch(async (error: unknown) => {
      // The last turn of a conversation that is deleted may hold its lock.
      const isGone = error === locked && (await this.conversations.get(tenant, id)) === undefined;
      throw isGone ? ApiError.notFound('Conversation', id) : error;
    });
    return { ...toRead(id, lease, known), ...held };
  }

  /** Reads a conversation without the lock. Throws ApiError 404. */
  async read(tenant: Tenant, id: string): Promise<ReadConversation> {
    const context = await this.conversations.read(tenant, id);
    if (context === undefined) throw ApiError.notFound('Conversation', id);
    return toRead(id, context, undefined);
  }
}

function toRead(
  id: string,
  { version, items }: ConversationContext,
  known: Continuation | undefined,
): ReadConversation {
  if (items !== null) return { id, version, transcript: Transcript.of(items), parent: null };
  if (known === undefined) throw new Error(`the items of the conversation ${id} were not read`);
  return { id, version, transcript: known.transcript, parent: known };
}

/** The error while a turn runs in a conversation (protocol §1.2). */
export function conversationLocked(param: 'conversation' | null): ApiError {
  const message = 'Another process is currently operating on this conversation. Please retry in a few seconds.';
  // SDKs do not retry a 400 without `x-should-retry`.
  const headers = { 'retry-after': '1', 'x-should-retry': 'true' };
  return ApiError.of('conversation_locked', message, { param, headers });
}
