import { Module } from '@nestjs/common';

import { LocksModule } from '../locks/index.js';
import { StateModule } from '../state/index.js';
import { ContextResolver } from './context-resolver.js';
import { ConversationGate } from './conversation-gate.js';
import { ContinuationCaches } from './continuation-caches.js';

/** Transcripts, and the caches of connections. */
@Module({
  imports: [LocksModule, StateModule],
  providers: [ContextResolver, ConversationGate, ContinuationCaches],
  exports: [ContextResolver, ConversationGate, ContinuationCaches],
})
export class ContextModule {}
