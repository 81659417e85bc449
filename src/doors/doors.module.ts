import { Module } from '@nestjs/common';

import { HttpModule } from '../http/index.js';
import { ResponsesModule } from '../responses/index.js';
import { StateModule } from '../state/index.js';
import { ChatController } from './chat/controller.js';
import { StoredChatController } from './chat/stored.controller.js';
import { DoorTurns } from './door-turns.js';
import { MessagesController } from './messages/messages.controller.js';

/** The other APIs in which clients may ask for turns (DOORS). Each translates; the turn knows nothing of them. */
@Module({
  imports: [HttpModule, ResponsesModule, StateModule],
  controllers: [ChatController, StoredChatController, MessagesController],
  providers: [DoorTurns],
})
export class DoorsModule {}
