import { isBuiltin } from 'node:module';

/** Modules that a file loads before it runs, other than those of Node. */
export function importsOf(text: string): readonly string[] {
  const imports = text.matchAll(/^(?:import|export|\})(?: .*)?(?: from)? ["']([^"']+)["']/gm);
  return Array.from(imports, ([, name = '']) => name).filter((name) => !isBuiltin(name));
}
