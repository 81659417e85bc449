import { build } from 'esbuild'; import { readdirSync } from 'node:fs';
const [s]=readdirSync('lib').filter(n=>/^service-.*\.js$/.test(n)), [f]=readdirSync('lib').filter(n=>/^framework-.*\.js$/.test(n));
await build({bundle:true,format:'esm',platform:'node',target:'node22',legalComments:'none',minifyWhitespace:true,minifySyntax:true,lineLimit:160,entryPoints:['scripts/build/package-loader.ts'],outfile:'lib/load.js',define:{SERVICE:JSON.stringify(s),FRAMEWORK:JSON.stringify(f)}});
