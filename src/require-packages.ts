import { EnvironmentError } from './config/index.js';
import { readManifest } from './read-version.js';

/** What PostgreSQL needs: the driver and the queue. */
export const POSTGRES_PACKAGES = ['pg', 'pg-boss'] as const;

/** What S3_BUCKET needs. */
export const S3_PACKAGE = '@aws-sdk/client-s3';

/**
 * Checks for packages that are optional to install. Throws EnvironmentError where some are missing: it names them, and the command that installs
 * them in versions that work.
 *
 * @param feature what needs them, such as `STATE=postgres`
 */
export function requirePackages(feature: string, ...names: readonly string[]): void {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length > 0) throw new EnvironmentError([`${feature} needs ${describeMissing(missing)}`]);
}

const NOT_FOUND: ReadonlySet<string | undefined> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** Whether a package can be imported. It is not loaded. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch (error) {
    // Jest has a code of its own. Packages with others have no module to import, only files.
    return !NOT_FOUND.has((error as NodeJS.ErrnoException).code);
  }
}

/** Names packages that are not installed, and the command that installs them. */
export function describeMissing(names: readonly string[]): string {
  const { peerDependencies } = readManifest();
  const command = `npm install ${names.map((name) => `${name}@${peerDependencies[name]}`).join(' ')}`;
  const what = names.length === 1 ? `the package ${names[0]}, which is` : `the packages ${names.join(', ')}, which are`;
  return `${what} not installed: ${command}`;
}
