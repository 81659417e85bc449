import {
  type CanActivate,
  Controller,
  Get,
  Inject,
  Injectable,
  NotFoundException,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, RequireScope } from '../../access/index.js';
import { Metrics } from './metrics.js';

/** Returns 404 where nothing is measured. */
@Injectable()
export class MetricsSwitch implements CanActivate {
  constructor(@Inject(Metrics) private readonly metrics: Metrics | null) {}

  canActivate(): boolean {
    if (this.metrics !== null) return true;
    throw new NotFoundException();
  }
}

/** `GET /metrics` on the port of the service, for credentials with the scope `admin`. */
@Controller('metrics')
@UseGuards(MetricsSwitch, ApiKeyGuard)
@RequireScope('admin')
export class MetricsController {
  constructor(@Inject(Metrics) private readonly metrics: Metrics) {}

  @Get()
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { registry } = this.metrics;
    const text = await registry.metrics();
    void reply.type(registry.contentType);
    return text;
  }
}
