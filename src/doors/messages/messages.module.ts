import { Module } from '@nestjs/common';

/** `POST /messages`, the API of Anthropic. */
@Module({})
export class MessagesModule {}
