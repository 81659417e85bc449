import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata } from '@nestjs/common';
import { ConfigModule as NestConfigModule, ConfigService } from '@nestjs/config';

import { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';
import type { Variables } from './read-variables.js';
import { VariableSource } from './variable-source.js';

/** Where the variables on top come from when they are only known later. */
export interface AsyncVariables {
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly inject: NonNullable<FactoryProvider['inject']>;
  readonly useFactory: FactoryProvider<Variables | Promise<Variables>>['useFactory'];
}

const OVERRIDES = Symbol('variables that win over the process');

/**
 * Provides the Environment: `.env`, the process's variables, and what the embedding program sets on top. Other modules read
 * variables of their own from VariableSource.
 */
@Module({})
export class ConfigModule {
  static forRoot(overrides: Variables = {}): DynamicModule {
    return this.forRootAsync({ imports: [], inject: [], useFactory: () => overrides });
  }

  /** Throws EnvironmentError when the application is created and the variables cannot be used. */
  static forRootAsync({ imports, inject, useFactory }: AsyncVariables): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      imports: [NestConfigModule.forRoot(), ...imports],
      providers: [
        { provide: OVERRIDES, inject, useFactory },
        {
          provide: VariableSource,
          inject: [ConfigService, OVERRIDES],
          useFactory: (config: ConfigService, overrides: Variables) => new VariableSource(config, overrides),
        },
        {
          provide: Environment,
          inject: [VariableSource],
          useFactory: (source: VariableSource) => readEnvironment(source.of(Environment)),
        },
      ],
      exports: [Environment, VariableSource],
    };
  }
}
