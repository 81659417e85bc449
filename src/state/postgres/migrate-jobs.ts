import { createRequire } from 'node:module';

import type pg from 'pg';

/** The schema of pg-boss's tables. */
export const JOBS_SCHEMA = 'antiphon_jobs';

interface BossPackage {
  readonly pgboss: { readonly schema: number };
}

/** The name of the migration of pg-boss's schema that the database lacks, if any. */
export async function pendingJobsMigration(client: pg.Client): Promise<string | undefined> {
  const required = requiredVersion();
  return (await installedVersion(client)) < required ? nameOf(required) : undefined;
}

/**
 * Installs pg-boss's schema or brings it up to date; returns the name of the migration, if one was needed. One process at
 * a time.
 */
export async function migrateJobs(client: pg.Client): Promise<string | undefined> {
  const installed = await installedVersion(client);
  const required = requiredVersion();
  if (installed >= required) return undefined;
  // Loaded on demand: most starts have nothing to migrate.
  const { getConstructionPlans, getMigrationPlans } = await import('pg-boss');
  if (installed > 0) {
    // Indexes that are built concurrently cannot be sent together; the table is small, since jobs are deleted when done.
    await client.query(getMigrationPlans(JOBS_SCHEMA, installed).replaceAll(' CONCURRENTLY', ''));
  } else {
    // A role without permission to create schemas can use an existing one.
    await client.query(getConstructionPlans(JOBS_SCHEMA, { createSchema: !(await hasSchema(client, JOBS_SCHEMA)) }));
  }
  return nameOf(required);
}

function nameOf(version: number): string {
  return `${JOBS_SCHEMA}_${version}`;
}

/** pg-boss exports neither this number nor a check that accepts a newer schema. */
function requiredVersion(): number {
  return (createRequire(import.meta.url)('pg-boss/package.json') as BossPackage).pgboss.schema;
}

/** 0 when it is not installed. */
async function installedVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ is: boolean }>(
    `SELECT to_regclass('${JOBS_SCHEMA}.version') IS NOT NULL AS is`,
  );
  if (rows[0]?.is !== true) return 0;
  const versions = await client.query<{ version: number }>(`SELECT version FROM ${JOBS_SCHEMA}.version`);
  return versions.rows[0]?.version ?? 0;
}

/** Whether a schema exists. */
export async function hasSchema(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(`SELECT to_regnamespace('${name}') IS NOT NULL AS has`);
  return rows[0]?.has === true;
}
