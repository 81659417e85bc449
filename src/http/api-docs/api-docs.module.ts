import { Module } from '@nestjs/common';

import { HttpModule } from '../index.js';
import { ApiDocsController } from './api-docs.controller.js';
import { ApiDocuments } from './api-documents.js';
import { ApiOperations } from './api-operations.js';

/** `/openapi.json`, `/asyncapi.json` and `/docs`. `npm start` has them; embedding programs import this module if they want them. */
@Module({ imports: [HttpModule], controllers: [ApiDocsController], providers: [ApiOperations, ApiDocuments] })
export class ApiDocsModule {}
