import cluster from 'node:cluster';

import { createApp } from '../bootstrap.js';
import { Environment, listenAddress, type Variables } from '../config/index.js';
import { HomeModule } from '../http/home/index.js';
import { introductionFor, SimulatorModule } from '../simulator/index.js';

/**
 * Starts the service in this process, with the simulator when PROVIDERS_FILE lists no upstreams. Returns its URL.
 * `variables` override those of the environment.
 */
export async function serve(variables: Variables): Promise<string> {
  // Several workers would introduce themselves several times.
  const introduction = cluster.isWorker ? null : introductionFor({ ...process.env, ...variables });
  const simulator = SimulatorModule.asFallback({ introduction });
  const app = await createApp({ environment: variables, imports: [simulator, HomeModule] });
  const environment = app.get(Environment);
  await app.listen(environment.PORT, listenAddress(environment));
  return app.getUrl();
}
