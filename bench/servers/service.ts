/** The service with a model without cost, so that only the service is measured. */
import { createApp, Environment, ModelProvider } from 'antiphon';

import { AgentProvider } from './agent-provider.ts';
import { BenchProvider } from './bench-provider.ts';
import { reportRoundTrips } from './report-round-trips.ts';

reportRoundTrips();

// Applied manually: Node strips types but does not support decorators.
ModelProvider('bench')(BenchProvider);
ModelProvider('bench-agent')(AgentProvider);

const app = await createApp({ providers: [BenchProvider, AgentProvider] });
const { PORT, HOST } = app.get(Environment);
await app.listen(PORT, HOST);
process.stdout.write(`The service listens on ${await app.getUrl()}\n`);
