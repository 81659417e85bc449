import { Injectable } from '@nestjs/common';

import type { Owner } from '../access/index.js';
import { ContinuationCaches } from '../context/index.js';
import { ApiError, type Item, type ListObject, type ResponseObject, toListObject } from '../protocol/index.js';
import { type PageRequest, ResponseStore, UnknownCursorError } from '../state/index.js';

/** What can be done with a response that is stored. Another owner's responses do not exist. */
@Injectable()
export class StoredResponsesService {
  constructor(
    private readonly store: ResponseStore,
    private readonly caches: ContinuationCaches,
  ) {}

  /** Throws ApiError 404. */
  async retrieve(owner: Owner, responseId: string): Promise<ResponseObject> {
    const response = await this.store.get(owner, responseId);
    if (response === undefined) throw ApiError.notFound('Response', responseId);
    return response;
  }

  /** Throws ApiError 404, also the second time. */
  async delete(owner: Owner, responseId: string): Promise<void> {
    if (!(await this.store.delete(owner, responseId))) throw ApiError.notFound('Response', responseId);
    this.caches.forget(owner, responseId);
  }

  /** Only background responses can be cancelled (protocol §1.1). Throws ApiError 404, or 400 for a foreground response. */
  async cancel(owner: Owner, responseId: string): Promise<ResponseObject> {
    await this.retrieve(owner, responseId);
    throw ApiError.badRequest('Cannot cancel a synchronous response.', null);
  }

  /** The input items of one request. Throws ApiError 404, or 400 for an `after` that is not in the list. */
  async inputItems(owner: Owner, responseId: string, page: PageRequest): Promise<ListObject<Item>> {
    const found = await this.findInputItems(owner, responseId, page);
    if (found === undefined) throw ApiError.notFound('Response', responseId);
    return toListObject(found.data, found.hasMore);
  }

  private async findInputItems(
    owner: Owner,
    responseId: string,
    page: PageRequest,
  ): ReturnType<ResponseStore['inputItems']> {
    try {
      return await this.store.inputItems(owner, responseId, page);
    } catch (error) {
      if (!(error instanceof UnknownCursorError)) throw error;
      throw ApiError.of('invalid_value', `Invalid 'after': there is no item with id '${error.cursor}' in this list.`, {
        param: 'after',
      });
    }
  }
}
