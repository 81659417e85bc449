import { Module } from '@nestjs/common';

import { ChatModule } from './chat/chat.module.js';
import { MessagesModule } from './messages/messages.module.js';

/** The other APIs in which clients may ask for turns (DOORS). Each translates; the turn knows nothing of them. */
@Module({ imports: [ChatModule, MessagesModule] })
export class DoorsModule {}
