import { Module } from '@nestjs/common';

import { DocumentsModule } from '../documents/index.js';
import { EmbeddingsModule } from '../../resources/embeddings/index.js';
import { FilesModule } from '../index.js';
import { HttpModule } from '../../http/index.js';
import { ResponsesModule } from '../../responses/index.js';
import { StateModule } from '../../state/index.js';
import { FileSearchPolicy } from './file-search.policy.js';
import { Indexer } from './indexer.js';
import { StoreFilesController } from './store-files.controller.js';
import { VectorLibrary } from './vector-library.js';
import { VectorSearch } from './vector-search.js';
import { VectorStoresController } from './vector-stores.controller.js';
import { VectorStoresService } from './vector-stores.service.js';

/** Vector stores, the files in them, and the `file_search` tool. */
@Module({
  imports: [DocumentsModule, EmbeddingsModule, FilesModule, HttpModule, ResponsesModule, StateModule],
  controllers: [VectorStoresController, StoreFilesController],
  providers: [VectorLibrary, Indexer, VectorStoresService, VectorSearch, FileSearchPolicy],
})
export class VectorStoresModule {}
