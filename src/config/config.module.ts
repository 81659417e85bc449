import { readFileSync } from 'node:fs';

import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata } from '@nestjs/common';
import { ConfigModule as NestConfigModule, ConfigService } from '@nestjs/config';

import { EnvironmentError } from './environment-error.js';
import { Environment } from './environment.js';
import { readEnvironment } from './read-environment.js';
import type { Variables } from './read-variables.js';
import { VariableSource } from './variable-source.js';

/** A factory for the overriding variables, for values that are resolved at start. */
export interface AsyncVariables {
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly inject: NonNullable<FactoryProvider['inject']>;
  readonly useFactory: FactoryProvider<Variables | Promise<Variables>>['useFactory'];
}

/** The file of variables, in the working directory. A relative path: the directory may be gone. */
const ENV_FILE = '.env';

const OVERRIDES = Symbol('overriding variables');

/**
 * Provides the Environment: `.env`, the variables of the process, and the overrides of the embedding program. Other
 * modules read their own variables from VariableSource.
 */
@Module({})
export class ConfigModule {
  static forRoot(overrides: Variables = {}): DynamicModule {
    return this.forRootAsync({ imports: [], inject: [], useFactory: () => overrides });
  }

  /**
   * Loads `.env` into the variables of the process; throws EnvironmentError when it cannot be read. The application fails to start with
   * EnvironmentError when the variables are not valid.
   */
  static forRootAsync({ imports, inject, useFactory }: AsyncVariables): DynamicModule {
    requireReadable(ENV_FILE);
    return {
      module: ConfigModule,
      global: true,
      imports: [NestConfigModule.forRoot({ envFilePath: ENV_FILE }), ...imports],
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

/** Nest would throw where nobody waits. Throws EnvironmentError for a file that is there and cannot be read. */
function requireReadable(path: string): void {
  try {
    readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new EnvironmentError([`${path}: cannot be read: ${message}.`]);
  }
}
