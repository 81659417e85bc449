import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A licence of a component in CycloneDX: one of SPDX's ids, a name, or an expression of several ids. */
export interface ComponentLicense {
  readonly license?: { readonly id?: string; readonly name?: string };
  readonly expression?: string;
}

/** A package in CycloneDX. */
export interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly ComponentLicense[];
}

/** What is read of a bill in CycloneDX. */
export interface BillOfMaterials {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly Component[];
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Removes what is not of production from the lock file. */
const PRUNE = [
  'install',
  '--package-lock-only',
  '--ignore-scripts',
  '--offline',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
];
const DESCRIBE = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
const MOST_BYTES = 64 * 1024 * 1024;

/** Peers for types and tests only. */
const NOT_RUN: ReadonlySet<string> = new Set(['@nestjs/testing', '@types/ws', 'openai']);
/** The build copies them into the program and into the package. */
const COPIED: ReadonlySet<string> = new Set([
  'class-transformer',
  'class-validator',
  'prom-client',
  'turndown',
  'uuid',
]);

type Ranges = Readonly<Record<string, string>>;

/** What is read of package.json. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly overrides: Ranges;
  readonly dependencies: Ranges;
  readonly peerDependencies: Ranges;
  readonly devDependencies: Ranges;
}

/**
 * The packages of production in the lock file, for all platforms, with all that is optional to install and what is copied. Throws when npm
 * fails.
 */
export function readBillOfMaterials(): BillOfMaterials {
  const folder = mkdtempSync(join(tmpdir(), 'antiphon-sbom-'));
  try {
    copyFileSync(join(ROOT, 'package-lock.json'), join(folder, 'package-lock.json'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(productionManifest()));
    // `sbom --omit=dev` leaves out what development needs as well.
    const run = (args: readonly string[]): string =>
      execFileSync('npm', args, {
        cwd: folder,
        encoding: 'utf8',
        maxBuffer: MOST_BYTES,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
    run(PRUNE);
    const bill = JSON.parse(run(DESCRIBE)) as BillOfMaterials;
    // npm names it after the directory that it stands in.
    return { ...bill, metadata: { ...bill.metadata, component: { ...bill.metadata.component, name: 'antiphon' } } };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A manifest with all that runs as dependencies: npm does not install peers that are optional. */
function productionManifest(): object {
  const { name, version, license, dependencies, peerDependencies, devDependencies, overrides } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Manifest;
  const peers = Object.entries(peerDependencies).filter(([peer]) => !NOT_RUN.has(peer));
  const copied = Object.entries(devDependencies).filter(([development]) => COPIED.has(development));
  return {
    name,
    version,
    license,
    dependencies: { ...dependencies, ...Object.fromEntries([...peers, ...copied]) },
    overrides,
  };
}
