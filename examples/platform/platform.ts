import { type AntiphonOptions, SharedClock, SimulatorModule } from 'antiphon';

import { AcmeProvider } from '../provider/acme.provider.js';
import { AuditedBackend } from './audited-backend.js';
import { EchoKind } from './echo-kind.js';
import { HelpCommand } from './help-command.js';
import { RegionIds } from './region-ids.js';
import { StockModule } from './stock-tools.js';
import { TeamAuthenticator, TeamsModule } from './tenants.js';
import { TokenBudget } from './token-budget.js';
import { UsageModule } from './usage.gateway.js';
import { UsageMeter } from './usage-meter.js';
import { WeatherTool } from './weather-tool.js';
import { WordFilter } from './word-filter.js';

/** A customised service that uses every extension point. */
export const platform: AntiphonOptions = {
  environment: { STATE: 'audited' },
  imports: [SimulatorModule, TeamsModule, UsageModule, StockModule],
  authenticator: TeamAuthenticator,
  admission: { useClass: TokenBudget },
  state: { audited: AuditedBackend },
  clock: { useClass: SharedClock },
  ids: { useFactory: () => new RegionIds('e0') },
  observers: [{ useExisting: UsageMeter }],
  passPolicies: [WordFilter, HelpCommand, WeatherTool],
  injectedTools: [{ server: 'stock', models: ['acme-*'] }],
  providers: [AcmeProvider],
  providerKinds: { echo: EchoKind },
  forwardedHeaders: ['x-team-trace'],
};
