import { readFileSync } from 'node:fs';

/** What is read of the package.json of this package. */
interface Manifest {
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The package.json of this package. */
export function readManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Manifest;
}

/** The version of this package, as in its package.json. */
export function readVersion(): string {
  return readManifest().version;
}
