import { createApp } from './bootstrap.js';
import { Environment, listenAddress } from './config/index.js';

/** Starts the service in this process. Gives the URL on which it listens. */
export async function serve(): Promise<string> {
  const app = await createApp();
  const environment = app.get(Environment);
  await app.listen(environment.PORT, listenAddress(environment));
  return app.getUrl();
}
