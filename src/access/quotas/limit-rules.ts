import { readFile } from 'node:fs/promises';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import type { Tenant } from '../index.js';
import {
  Environment,
  EnvironmentError,
  faultsOf,
  parseDataFile,
  ReloadedFile,
  requireSchema,
} from '../../config/index.js';
import { Clock } from '../../time/index.js';
import { appliesTo, LIMITS_SCHEMA, type LimitRule, namesTenant } from './limit-rule.js';

/** The rules of LIMITS_FILE and, where none applies, the limits of the environment. */
@Injectable()
export class LimitRules implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Limits');
  private readonly file: ReloadedFile<readonly LimitRule[]> | undefined;
  /** Undefined when the environment has no limits. */
  private readonly fallback: LimitRule | undefined;

  constructor(
    private readonly environment: Environment,
    clock: Clock,
  ) {
    const { LIMIT_REQUESTS_PER_MINUTE, LIMIT_TOKENS_PER_MINUTE, LIMIT_CONCURRENT_TURNS, LIMITS_FILE } = environment;
    if (LIMIT_REQUESTS_PER_MINUTE + LIMIT_TOKENS_PER_MINUTE + LIMIT_CONCURRENT_TURNS > 0) {
      this.fallback = {
        requests_per_minute: LIMIT_REQUESTS_PER_MINUTE,
        tokens_per_minute: LIMIT_TOKENS_PER_MINUTE,
        concurrent_turns: LIMIT_CONCURRENT_TURNS,
      };
    }
    if (LIMITS_FILE === '') return;
    const read = (): Promise<readonly LimitRule[]> => readLimitsFile(LIMITS_FILE);
    const count = ({ length }: readonly LimitRule[]): number => length;
    const file = { variable: 'LIMITS_FILE' as const, path: LIMITS_FILE, what: 'rules', read, count };
    this.file = new ReloadedFile(file, [], clock, this.logger);
  }

  /** Throws EnvironmentError when the file is not valid. */
  async onModuleInit(): Promise<void> {
    await this.file?.start();
  }

  onApplicationShutdown(): void {
    this.file?.stop();
  }

  /** The rule for the turns of a tenant with a model: the first that applies; undefined when nothing limits them. */
  find(tenant: Tenant, model: string): LimitRule | undefined {
    for (const rule of this.rules) if (appliesTo(rule, tenant, model)) return rule;
    return this.fallback;
  }

  /** The rules that apply to a tenant, each to some models, in the order in which they are asked. */
  ofTenant(tenant: Tenant): readonly LimitRule[] {
    const named = this.rules.filter((rule) => namesTenant(rule, tenant));
    // What stands behind one for all models never applies.
    const last = named.findIndex(({ model }) => model === undefined);
    if (last !== -1) return named.slice(0, last + 1);
    return this.fallback === undefined ? named : [...named, this.fallback];
  }

  /** The sockets that a tenant may have open; 0 for no limit. */
  socketsOf(tenant: Tenant): number {
    const rule = this.rules.find((rule) => rule.sockets !== undefined && namesTenant(rule, tenant));
    return rule?.sockets ?? this.environment.WS_MAX_CONNECTIONS_PER_TENANT;
  }

  /** The searches that a tenant may make a minute; 0 for no limit. */
  searchesOf(tenant: Tenant): number {
    const rule = this.rules.find((rule) => rule.searches_per_minute !== undefined && namesTenant(rule, tenant));
    return rule?.searches_per_minute ?? this.environment.WEB_SEARCH_PER_MINUTE;
  }

  private get rules(): readonly LimitRule[] {
    return this.file?.current ?? [];
  }
}

/** Reads and validates the file. Throws EnvironmentError, which names the place of the violation. */
async function readLimitsFile(path: string): Promise<readonly LimitRule[]> {
  try {
    const value = await parseDataFile(path, await readFile(path, 'utf8'));
    const { limits } = requireSchema<{ readonly limits: readonly LimitRule[] }>(value ?? {}, LIMITS_SCHEMA);
    for (const name of ['sockets', 'searches_per_minute'] as const) {
      const wrong = limits.findIndex((rule) => rule.model !== undefined && rule[name] !== undefined);
      if (wrong >= 0) throw new Error(`limits[${wrong}].${name} must stand in a rule without model`);
    }
    return limits;
  } catch (error) {
    throw new EnvironmentError(faultsOf(error).map((fault) => `LIMITS_FILE: ${path}: ${fault}.`));
  }
}
