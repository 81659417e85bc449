/**
 * The licences of production: `node scripts/supply-chain/licenses.ts [sbom]` prints a table of them, from a bill in CycloneDX or from the
 * lock file. Exit code 1 when a package has a licence that is not allowed.
 */
import { readFileSync } from 'node:fs';

import { type BillOfMaterials, type Component, readBillOfMaterials } from './bill-of-materials.ts';

/** Licences that let a service be used, changed and shipped without its source. Add one only after reading it. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages whose manifest names no licence that npm knows, with the one that their file LICENSE has, or that of their repository. */
const READ: Readonly<Record<string, string>> = {
  'duck@0.1.12': 'BSD-2-Clause',
  ...Object.fromEntries(
    ['', '-darwin-arm64', '-darwin-x64', '-linux-arm64', '-linux-x64', '-windows-x64'].map((platform) => [
      `sqlite-vec${platform}@0.1.9`,
      'MIT OR Apache-2.0',
    ]),
  ),
};

const [path] = process.argv.slice(2);
const { components } =
  path === undefined ? readBillOfMaterials() : (JSON.parse(readFileSync(path, 'utf8')) as BillOfMaterials);
const byLicense = new Map<string, Component[]>();
for (const component of components) {
  const license = licenseOf(component);
  byLicense.set(license, [...(byLicense.get(license) ?? []), component]);
}
const refused = [...byLicense].filter(([license]) => !isAllowed(license));

for (const [license, { length }] of [...byLicense].sort(([a], [b]) => a.localeCompare(b)))
  process.stdout.write(`${license.padEnd(24)}${String(length).padStart(4)}\n`);
for (const [license, packages] of refused)
  for (const { name, version } of packages) process.stderr.write(`${name}@${version}: ${license} is not allowed\n`);
if (refused.length > 0) process.exitCode = 1;

function licenseOf({ name, version, licenses = [] }: Component): string {
  const read = READ[`${name}@${version}`];
  if (read !== undefined) return read;
  const texts = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? 'no licence');
  return texts.join(' AND ') || 'no licence';
}

/** Of alternatives one is enough, of conditions all must be allowed. Anything that is not understood is refused. */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((one) => one.split(' AND ').every((license) => ALLOWED.has(license)));
}
