import { Module } from '@nestjs/common';

import { DocumentsModule } from '../../files/documents/index.js';
import { McpModule } from '../mcp/index.js';
import { WebSearch } from './web-search.js';

/** The web for models: search engines, and the pages that they find. It knows nothing of turns. */
@Module({ imports: [DocumentsModule, McpModule], providers: [WebSearch], exports: [WebSearch] })
export class WebSearchModule {}
