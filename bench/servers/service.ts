/** The service with a model that costs nothing, so that what is measured is the road of a turn. */
import { createApp, Environment, ModelProvider } from 'antiphon';

import { AgentProvider } from './agent-provider.ts';
import { BenchProvider } from './bench-provider.ts';
import { reportRoundTrips } from './report-round-trips.ts';

reportRoundTrips();

// By hand: Node strips types, but knows no decorators.
ModelProvider('bench')(BenchProvider);
ModelProvider('bench-agent')(AgentProvider);

const app = await createApp({ providers: [BenchProvider, AgentProvider] });
const { PORT, HOST } = app.get(Environment);
await app.listen(PORT, HOST);
process.stdout.write(`The service listens on ${await app.getUrl()}\n`);
