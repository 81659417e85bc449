/**
 * The software bill of materials of production, as `npm sbom` makes it from the lock file: `node scripts/supply-chain/sbom.ts` writes
 * CycloneDX to sbom.cdx.json.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { readBillOfMaterials } from './bill-of-materials.ts';

const FILE = fileURLToPath(new URL('../../sbom.cdx.json', import.meta.url));

const bill = readBillOfMaterials();
writeFileSync(FILE, `${JSON.stringify(bill, undefined, 2)}\n`);
process.stdout.write(`sbom.cdx.json: ${bill.components.length} packages (CycloneDX ${bill.specVersion})\n`);
