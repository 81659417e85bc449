import { describe, expect, it } from '@jest/globals';
import { Module, type ModuleMetadata } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';

import {
  AntiphonModule,
  configureApp,
  createAdapter,
  createApp,
  SimulatorModule,
  SimulatorOptions,
  VariableSource,
} from '../../src/index.js';

@Module({
  providers: [
    { provide: 'MINE', inject: [VariableSource], useFactory: (source: VariableSource) => source.get('MINE') },
  ],
  exports: ['MINE'],
})
class OwnModule {}

async function start(...imports: NonNullable<ModuleMetadata['imports']>): Promise<NestFastifyApplication> {
  const module = await Test.createTestingModule({ imports }).compile();
  return configureApp(module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false }));
}

describe('SimulatorModule', () => {
  it('SimulatorModule reads its variables from what createApp is given', async () => {
    const app = await createApp({
      imports: [SimulatorModule, OwnModule],
      environment: { LOG_LEVEL: 'fatal', SIMULATOR_SEED: '7', MINE: 'yes' },
    });
    expect(app.get(SimulatorOptions, { strict: false }).seed).toBe(7);
    expect(app.get('MINE', { strict: false })).toBe('yes');
    await app.close();
  });

  it('SimulatorModule reads its variables from those that are only known later, and may stand beside AntiphonModule', async () => {
    const antiphon = AntiphonModule.forRootAsync({ useEnvironment: async () => ({ SIMULATOR_TEXT: 'later' }) });
    const app = await start(SimulatorModule, antiphon);
    expect(app.get(SimulatorOptions, { strict: false }).text).toBe('later');
    await app.close();
  });

  it('SimulatorModule may be imported with forRootAsync', async () => {
    const antiphon = AntiphonModule.forRootAsync({
      imports: [SimulatorModule],
      useEnvironment: () => ({ SIMULATOR_SEED: 8 }),
    });
    const app = await start(antiphon);
    expect(app.get(SimulatorOptions, { strict: false }).seed).toBe(8);
    await app.close();
  });

  it('SimulatorModule stops the start with a line for each of its variables that is wrong', async () => {
    const environment = { SIMULATOR_SEED: 'x', SIMULATOR_GENERATOR: 'fixed', LOG_LEVEL: 'fatal' };
    const error: unknown = await createApp({ imports: [SimulatorModule], environment }).catch(String);
    expect(error).toMatch(/^EnvironmentError: SIMULATOR_SEED: .*\nSIMULATOR_TEXT: .*$/);
  });

  it('SimulatorModule is not asked for its variables where it is not imported', async () => {
    const environment = { SIMULATOR_SEED: 'x', LOG_LEVEL: 'fatal' };
    await expect(createApp({ environment })).rejects.toThrow('No model provider');
  });
});
