import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A path below the innermost package of a path. */
const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** Writes the licences of the packages to which modules belong into a file: they ask for that where their code is copied. */
export function listLicences(modules: readonly string[], file: string): void {
  const folders = new Set(modules.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
  const texts = Array.from(folders).sort().map(licenceOf);
  writeFileSync(file, texts.join(`\n${'-'.repeat(80)}\n\n`));
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const files = readdirSync(folder).filter((one) => /^licen[cs]e/i.test(one));
  const texts = files.map((one) => readFileSync(join(folder, one), 'utf8').trim());
  return [`${name} ${version} (${license ?? 'see its files'})`, ...texts, ''].join('\n\n');
}
