import { Module } from '@nestjs/common';

import { StateModule } from '../state/index.js';
import { ContextResolver } from './context-resolver.js';
import { ContinuationCaches } from './continuation-caches.js';

/** Transcripts, and the caches of connections. */
@Module({
  imports: [StateModule],
  providers: [ContextResolver, ContinuationCaches],
  exports: [ContextResolver, ContinuationCaches],
})
export class ContextModule {}
