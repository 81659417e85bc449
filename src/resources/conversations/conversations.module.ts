import { Module } from '@nestjs/common';

import { ContextModule } from '../../context/index.js';
import { HttpModule } from '../../http/index.js';
import { StateModule } from '../../state/index.js';
import { ConversationsController } from './conversations.controller.js';
import { ConversationsService } from './conversations.service.js';

/** Conversations and their items (protocol §1.2). Turns in them are run by ResponsesModule. */
@Module({
  imports: [ContextModule, HttpModule, StateModule],
  controllers: [ConversationsController],
  providers: [ConversationsService],
})
export class ConversationsModule {}
