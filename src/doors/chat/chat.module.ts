import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { ResponsesModule } from '../../responses/index.js';
import { ChatController } from './controller.js';

/** `/chat/completions`, the API of Chat Completions. */
@Module({ imports: [HttpModule, ResponsesModule], controllers: [ChatController] })
export class ChatModule {}
