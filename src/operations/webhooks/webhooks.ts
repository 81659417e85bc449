import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { IdGenerator, type ResponseObject } from '../../protocol/index.js';
import type { NewJob } from '../../state/index.js';
import { Clock } from '../../time/index.js';

/** An event to announce, as plain data of a job: each attempt to send it sends the same. */
export interface WebhookEvent {
  /** `evt_…` */
  readonly id: string;
  readonly type: `response.${NonNullable<ResponseObject['status']>}`;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  readonly responseId: string;
  /** Whose response it is; for the log. */
  readonly tenant: string;
}

/** Announces the ends of background responses to WEBHOOK_URL. */
@Injectable()
export class Webhooks {
  constructor(
    private readonly environment: Environment,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
  ) {}

  /** The jobs that announce the end of a response, to be enqueued when it is stored. None without WEBHOOK_URL. */
  announcing(tenant: Tenant, { id, status }: Pick<ResponseObject, 'id' | 'status'>): readonly NewJob[] {
    if (this.environment.WEBHOOK_URL === '') return [];
    const event: WebhookEvent = {
      id: this.ids.next('evt'),
      type: `response.${status}`,
      createdAt: this.clock.nowInSeconds(),
      responseId: id,
      tenant,
    };
    return [{ queue: 'webhooks', data: event }];
  }
}
