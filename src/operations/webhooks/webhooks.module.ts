import { Module } from '@nestjs/common';

import { StateModule } from '../../state/index.js';
import { WebhookSender } from './webhook-sender.js';
import { Webhooks } from './webhooks.js';

/** Announces the ends of background responses to WEBHOOK_URL. */
@Module({
  imports: [StateModule],
  providers: [Webhooks, WebhookSender],
  exports: [Webhooks],
})
export class WebhooksModule {}
