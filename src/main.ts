import { createApp } from './bootstrap.js';
import { Environment, listenAddress } from './config/index.js';
import { describeStartFailure } from './start-failure.js';

try {
  const app = await createApp();
  const environment = app.get(Environment);
  await app.listen(environment.PORT, listenAddress(environment));
  process.stdout.write(`Antiphon listens on ${await app.getUrl()}\n`);
} catch (error) {
  process.stderr.write(`${describeStartFailure(error)}\n`);
  process.exit(1);
}
