import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { NotFoundException } from '@nestjs/common';

import { describeMissing, isInstalled } from '../../require-packages.js';

/** A file of the page, with its media type. */
export interface PageFile {
  readonly type: string;
  readonly content: string | Buffer;
}

const PACKAGE = '@fastify/swagger-ui';

/** The files of Swagger UI that the page uses. */
const ASSETS: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['index.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

/**
 * A file, because the policy allows no code in the page. Its own address tells where the documents are. Swagger UI knows no AsyncAPI:
 * the socket is shown as one operation, with the schemas of its messages.
 */
const START = `const { src } = document.currentScript;

function toOpenApi({ info, channels, operations, components }) {
  const { address, description, bindings } = channels.responses;
  const typesOf = ({ messages }) => messages.map(({ $ref }) => '\`' + components.messages[$ref.split('/').pop()].name + '\`').join(', ');
  const paragraphs = [info.description, description, 'Clients send ' + typesOf(operations.receive) + '.', 'The service sends ' + typesOf(operations.send) + '.'];
  const headers = Object.entries(bindings.ws.headers.properties);
  const open = {
    tags: ['WebSocket'],
    summary: 'Opens a socket for many turns.',
    description: paragraphs.join('\\n\\n'),
    parameters: headers.map(([name, { description, ...schema }]) => ({ name, in: 'header', description, schema })),
    responses: { 101: { description: 'The socket is open.' } },
  };
  const frames = Object.entries(components.messages).map(([name, { payload }]) => [name, payload]).filter(([name, payload]) => payload.$ref !== '#/components/schemas/' + name);
  return {
    openapi: '3.1.0',
    info: { title: info.title + ' over WebSocket', version: info.version },
    paths: { [address]: { get: open } },
    components: { schemas: { ...Object.fromEntries(frames), ...components.schemas } },
  };
}

window.addEventListener('load', async () => {
  const all = { deepLinking: true, validatorUrl: null };
  SwaggerUIBundle({ ...all, url: new URL('../openapi.json', src).href, dom_id: '#page' });
  const answer = await fetch(new URL('../asyncapi.json', src));
  const spec = toOpenApi(await answer.json());
  SwaggerUIBundle({ ...all, spec, dom_id: '#socket', supportedSubmitMethods: [], defaultModelsExpandDepth: 0 });
});
`;

/**
 * The page. Throws NotFoundException where Swagger UI is not installed.
 *
 * @param files where its files are, relative to the page
 */
export function writePage(files: string): string {
  if (!isInstalled(PACKAGE)) throw new NotFoundException(`This page needs ${describeMissing([PACKAGE])}`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Antiphon API</title>
<link rel="icon" href="${files}/favicon-32x32.png">
<link rel="stylesheet" href="${files}/swagger-ui.css">
<link rel="stylesheet" href="${files}/index.css">
<body>
<div id="page"></div>
<div id="socket"></div>
<script src="${files}/swagger-ui-bundle.js"></script>
<script src="${files}/start.js"></script>
</body>
</html>
`;
}

/** A file of the page; undefined when the page has no such file. Rejects when Swagger UI is not installed. */
export async function readPageFile(name: string): Promise<PageFile | undefined> {
  if (name === 'start.js') return { type: 'text/javascript; charset=utf-8', content: START };
  const type = ASSETS.get(name);
  if (type === undefined) return undefined;
  // Only its files: the plugin would be loaded, and its routes added, at every start.
  const root = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
  return { type, content: await readFile(join(root, 'static', name)) };
}
