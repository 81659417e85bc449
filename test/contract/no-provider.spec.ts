import { afterEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import { type AntiphonOptions, createApp, EnvironmentError, SimulatorModule } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';

const SENTENCE = 'No model provider: pass `providers`, set PROVIDERS_FILE, or import SimulatorModule.';
const environment = { LOG_LEVEL: 'fatal' };

describe('createApp', () => {
  let app: NestFastifyApplication | undefined;

  afterEach(() => app?.close());

  it.each<[what: string, options: AntiphonOptions]>([
    ['nothing', {}],
    ['an empty list of providers', { providers: [] }],
    ['modules without a provider', { imports: [class EmptyModule {}] }],
  ])('createApp rejects with one sentence where it is given %s', async (_, options) => {
    const start = createApp({ environment, ...options });
    await expect(start).rejects.toThrow(new EnvironmentError([SENTENCE]));
  });

  it.each<[what: string, options: AntiphonOptions]>([
    ['a provider', { providers: [ScriptedProvider] }],
    ['the simulator', { imports: [SimulatorModule] }],
    ['the simulator as a fallback', { imports: [SimulatorModule.asFallback()] }],
    ['PROVIDERS_FILE', { environment: { ...environment, PROVIDERS_FILE: 'providers.yaml' } }],
  ])('createApp starts with %s', async (_, options) => {
    app = await createApp({ environment, ...options });
    expect(app).toBeDefined();
  });
});
