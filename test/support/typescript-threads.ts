import { existsSync, readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

/**
 * Jest transforms what a spec imports, but not what a thread of the service loads: there, Node loads the sources itself.
 * They name their imports `.js`, as they are called once built.
 */
if (!isMainThread) {
  registerHooks({
    resolve: (specifier, context, next) => {
      if (!/^(?:\.|file:).*\.js$/.test(specifier)) return next(specifier, context);
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
      return next(existsSync(source) ? source.href : specifier, context);
    },
    load: (url, context, next) => {
      if (!/^file:.*\.ts$/.test(url)) return next(url, context);
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'), {
        mode: 'transform',
        sourceMap: true,
        sourceUrl: url,
      });
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
