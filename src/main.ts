import { createApp } from './bootstrap.js';
import { Environment, EnvironmentError, listenAddress } from './config/index.js';

try {
  const app = await createApp();
  const environment = app.get(Environment);
  await app.listen(environment.PORT, listenAddress(environment));
  process.stdout.write(`Antiphon listens on ${await app.getUrl()}\n`);
} catch (error) {
  // A wrong variable is the operator's to mend: one line each, no stack.
  process.stderr.write(
    error instanceof EnvironmentError ? `${error.message}\n` : `${String((error as Error).stack)}\n`,
  );
  process.exitCode = 1;
}
