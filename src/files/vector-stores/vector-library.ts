import { Inject, Injectable, Optional } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import {
  LibraryBackend,
  observeCalls,
  StateCallObserver,
  type VectorIndex,
  type VectorStoreRecords,
} from '../../state/index.js';

/** Where vector stores are kept, and their index. */
@Injectable()
export class VectorLibrary {
  private readonly kept: { readonly records: VectorStoreRecords; readonly index: VectorIndex } | undefined;

  constructor(
    { vectorStores, vectors }: LibraryBackend,
    private readonly environment: Environment,
    @Optional() @Inject(StateCallObserver) observer: StateCallObserver | null = null,
  ) {
    if (vectorStores === undefined || vectors === undefined) return;
    this.kept = {
      records: observeCalls(vectorStores, 'vector_stores', observer),
      index: observeCalls(vectors, 'vectors', observer),
    };
  }

  /** Whether a database keeps vector stores. */
  get isAvailable(): boolean {
    return this.kept !== undefined;
  }

  /** Throws ApiError 400 `files_not_configured`. */
  get records(): VectorStoreRecords {
    return this.require().records;
  }

  /** Throws ApiError 400 `files_not_configured`. */
  get index(): VectorIndex {
    return this.require().index;
  }

  private require(): { readonly records: VectorStoreRecords; readonly index: VectorIndex } {
    if (this.kept !== undefined) return this.kept;
    const message = `This server keeps no vector stores: STATE=${this.environment.STATE} needs VECTOR_STORE_URL for them.`;
    throw ApiError.of('files_not_configured', message);
  }
}
