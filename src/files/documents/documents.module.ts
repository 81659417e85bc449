import { Module } from '@nestjs/common';

import { Documents } from './documents.js';

/** The text of documents, for models that read nothing else. */
@Module({ providers: [Documents], exports: [Documents] })
export class DocumentsModule {}
