import { Logger } from '@nestjs/common';

import { createApp } from './bootstrap.js';
import { Environment, listenAddress } from './config/index.js';
import { describeStartFailure } from './start-failure.js';

try {
  const app = await createApp();
  const environment = app.get(Environment);
  await app.listen(environment.PORT, listenAddress(environment));
  const line = `Antiphon listens on ${await app.getUrl()}`;
  if (environment.LOG_FORMAT === 'json') new Logger('Antiphon').log(line);
  else process.stdout.write(`${line}\n`);
} catch (error) {
  process.stderr.write(`${describeStartFailure(error)}\n`);
  process.exit(1);
}
