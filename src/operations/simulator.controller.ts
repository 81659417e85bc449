import { Controller, Get, NotFoundException, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { Environment } from '../config/index.js';
import { type SimulatorReport, SimulatorStatistics } from './simulator-statistics.js';

/** `/simulator`: what load tests want to know of the simulated models. */
@Controller('simulator')
@UseGuards(ApiKeyGuard)
export class SimulatorController {
  constructor(
    private readonly statistics: SimulatorStatistics,
    private readonly environment: Environment,
  ) {}

  /** The caller's own turns on this replica. As if it were not there in production, unless SIMULATOR_STATS says so. */
  @Get('stats')
  stats(@CurrentCaller() { owner }: Caller): SimulatorReport {
    const { SIMULATOR_STATS, NODE_ENV } = this.environment;
    if (!(SIMULATOR_STATS ?? NODE_ENV !== 'production')) throw new NotFoundException();
    return this.statistics.report(owner);
  }
}
