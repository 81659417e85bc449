import { execFileSync } from 'node:child_process';
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
const ARGUMENTS = [
  'sbom',
  '--sbom-format',
  'cyclonedx',
  '--sbom-type',
  'application',
  '--omit',
  'dev',
  '--package-lock-only',
];
const MOST_BYTES = 64 * 1024 * 1024;

/** The packages of production in the lock file, for all platforms. Throws when npm fails. */
export function readBillOfMaterials(): BillOfMaterials {
  const output = execFileSync('npm', ARGUMENTS, { cwd: ROOT, encoding: 'utf8', maxBuffer: MOST_BYTES });
  const bill = JSON.parse(output) as BillOfMaterials;
  // npm names it after the directory that it stands in.
  return { ...bill, metadata: { ...bill.metadata, component: { ...bill.metadata.component, name: 'antiphon' } } };
}
