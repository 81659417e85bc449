import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { ResponsesModule } from '../../responses/index.js';
import { MessagesController } from './messages.controller.js';

/** `POST /messages` and `POST /messages/count_tokens`, the API of Anthropic. */
@Module({ imports: [HttpModule, ResponsesModule], controllers: [MessagesController] })
export class MessagesModule {}
