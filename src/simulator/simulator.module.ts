import { type DynamicModule, Module, type Provider } from '@nestjs/common';

import { VariableSource } from '../config/index.js';
import { HttpModule } from '../http/index.js';
import { Clock } from '../time/index.js';
import { SIMULATED_SEARCH } from '../tools/web-search/index.js';
import { ControlSwitch, SimulatorControlController } from './control.controller.js';
import { RecordingsController } from './recordings.controller.js';
import { SimulatedSearch } from './simulated-search.js';
import { SimulatorOptions } from './simulator-options.js';
import { SimulatorController, StatisticsSwitch } from './simulator.controller.js';
import { SimulatorProvider } from './simulator.provider.js';
import { SimulatorStatistics } from './simulator-statistics.js';
import { JournalObserver, Spaces } from './spaces/index.js';
import { isControlOpen, readSimulatorVariables, SimulatorVariables } from './simulator-variables.js';

/**
 * The simulator: simulated models, `GET /simulator/stats` and, with SIMULATOR_CONTROL, the other routes of `/simulator`. Import it beside AntiphonModule, or in its `imports`.
 */
@Module({
  imports: [HttpModule],
  controllers: [SimulatorController, SimulatorControlController, RecordingsController],
  providers: [
    {
      provide: SimulatorVariables,
      inject: [VariableSource],
      useFactory: (source: VariableSource) => readSimulatorVariables(source.of(SimulatorVariables)),
    },
    provideOptions({}),
    Spaces,
    {
      provide: JournalObserver,
      inject: [SimulatorVariables, Spaces, Clock],
      // Without the control routes nothing can read the journal.
      useFactory: (variables: SimulatorVariables, spaces: Spaces, clock: Clock) =>
        isControlOpen(variables) ? new JournalObserver(spaces, clock) : null,
    },
    SimulatorProvider,
    { provide: SIMULATED_SEARCH, useClass: SimulatedSearch },
    SimulatorStatistics,
    StatisticsSwitch,
    ControlSwitch,
  ],
  exports: [SimulatorOptions, SimulatorProvider],
})
export class SimulatorModule {
  /** With a PROVIDERS_FILE, serves only the model names that the file routes to `simulator`. */
  static asFallback({ introduction = null }: Partial<Pick<SimulatorOptions, 'introduction'>> = {}): DynamicModule {
    // The last provider of a token takes precedence.
    return { module: SimulatorModule, providers: [provideOptions({ isFallback: true, introduction })] };
  }
}

function provideOptions(others: Partial<SimulatorOptions>): Provider {
  return {
    provide: SimulatorOptions,
    inject: [SimulatorVariables],
    useFactory: (variables: SimulatorVariables) => SimulatorOptions.from(variables, others),
  };
}
