import { type CanActivate, Controller, Get, Injectable, NotFoundException, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { type SimulatorReport, SimulatorStatistics } from './simulator-statistics.js';
import { SimulatorVariables } from './simulator-variables.js';

/** Returns 404 if statistics are disabled, by SIMULATOR_STATS or by default in production. */
@Injectable()
export class StatisticsSwitch implements CanActivate {
  constructor(private readonly variables: SimulatorVariables) {}

  canActivate(): boolean {
    const { SIMULATOR_STATS, NODE_ENV } = this.variables;
    if (SIMULATOR_STATS ?? NODE_ENV !== 'production') return true;
    throw new NotFoundException();
  }
}

/** `/simulator`: statistics for load tests. */
@Controller('simulator')
@UseGuards(StatisticsSwitch, ApiKeyGuard)
export class SimulatorController {
  constructor(private readonly statistics: SimulatorStatistics) {}

  /** Statistics of the caller's tenant on this replica. */
  @Get('stats')
  stats(@CurrentCaller() { tenant }: Caller): SimulatorReport {
    return this.statistics.report(tenant);
  }
}
