import { Module } from '@nestjs/common';

import { LocksModule } from '../state/locks/index.js';
import { SealsModule } from './seals/index.js';
import { StateModule } from '../state/index.js';
import { ContextResolver } from './context-resolver.js';
import { ConversationGate } from './conversation-gate.js';
import { ContinuationCaches } from './continuation-caches.js';
import { ModelContexts } from './model-contexts.js';

/** Transcripts, and the caches of connections. */
@Module({
  imports: [LocksModule, SealsModule, StateModule],
  providers: [ContextResolver, ConversationGate, ContinuationCaches, ModelContexts],
  exports: [ContextResolver, ConversationGate, ContinuationCaches, ModelContexts],
})
export class ContextModule {}
