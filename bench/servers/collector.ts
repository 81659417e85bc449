/** A collector of traces that reads and forgets them. */
import { createServer } from 'node:http';

import { listen } from './listen.ts';

const server = createServer((request, reply) => {
  request.resume().on('end', () => reply.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});

listen(server, 'The collector');
