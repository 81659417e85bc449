import { type CanActivate, Controller, Get, Injectable, NotFoundException, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { type SimulatorReport, SimulatorStatistics } from './simulator-statistics.js';
import { SimulatorVariables } from './simulator-variables.js';

/** Lets nobody know of the statistics where they are switched off: in production, unless SIMULATOR_STATS says otherwise. */
@Injectable()
export class StatisticsSwitch implements CanActivate {
  constructor(private readonly variables: SimulatorVariables) {}

  canActivate(): boolean {
    const { SIMULATOR_STATS, NODE_ENV } = this.variables;
    if (SIMULATOR_STATS ?? NODE_ENV !== 'production') return true;
    throw new NotFoundException();
  }
}

/** `/simulator`: what load tests want to know of the simulated models. */
@Controller('simulator')
@UseGuards(StatisticsSwitch, ApiKeyGuard)
export class SimulatorController {
  constructor(private readonly statistics: SimulatorStatistics) {}

  /** The caller's own turns on this replica. */
  @Get('stats')
  stats(@CurrentCaller() { tenant }: Caller): SimulatorReport {
    return this.statistics.report(tenant);
  }
}
