import cluster from 'node:cluster';

import { Logger } from '@nestjs/common';

import { announce } from './announce.js';
import { type Environment, loadEnvironment } from './config/index.js';
import { createLogger } from './create-logger.js';
import { readSimulatorVariables } from './simulator/simulator-variables.js';
import { describeStartFailure } from './start-failure.js';

try {
  await start(loadEnvironment({}, readSimulatorVariables));
} catch (error) {
  process.stderr.write(`${describeStartFailure(error)}\n`);
  process.exit(1);
}

/**
 * Serves in this process, or starts WORKERS processes and supervises them. Loads only the modules that the role needs.
 */
async function start(environment: Environment): Promise<void> {
  const { WORKERS } = environment;
  if (WORKERS > 1 && cluster.isPrimary) {
    const { superviseWorkers } = await import('./workers/index.js');
    Logger.overrideLogger(createLogger(environment));
    process.exitCode = await superviseWorkers(environment, (url) => announce(url, environment));
    return;
  }
  const { serve } = await import('./serve.js');
  if (WORKERS === 1) {
    announce(await serve(), environment);
    return;
  }
  const { serveAsWorker } = await import('./workers/index.js');
  await serveAsWorker(serve, describeStartFailure);
}
