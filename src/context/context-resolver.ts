import { Injectable } from '@nestjs/common';

import type { Owner } from '../access/index.js';
import { ApiError, type Item } from '../protocol/index.js';
import { type Chain, ResponseStore } from '../state/index.js';
import { Conversation } from './conversation.js';

/** What a turn starts from: everything before it with its own input, and the stored chain it continues, if any. */
export interface TurnContext {
  readonly conversation: Conversation;
  readonly chain: Chain | null;
}

/** Finds what the model sees: the chain behind `previous_response_id`, then the input (protocol §9). */
@Injectable()
export class ContextResolver {
  constructor(private readonly store: ResponseStore) {}

  /**
   * Resolves and checks the whole context. Throws ApiError 400 `previous_response_not_found` when the parent is missing,
   * another owner's or not continuable, and the pairing errors of protocol §3.1.
   */
  async resolve(owner: Owner, previousResponseId: string | null, input: readonly Item[]): Promise<TurnContext> {
    if (previousResponseId === null) return { conversation: Conversation.of([]).accept(input), chain: null };
    const chain = await this.store.chain(owner, previousResponseId);
    if (chain === undefined) {
      throw ApiError.of('previous_response_not_found', `Previous response with id '${previousResponseId}' not found.`, {
        param: 'previous_response_id',
      });
    }
    return { conversation: Conversation.of(chain.items).accept(input), chain };
  }
}
