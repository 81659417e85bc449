import { createServer } from 'node:http';

import { beforeAll, afterAll, describe, expect, it } from '@jest/globals';

import { LineBudget } from '../../src/logging/index.js';
import { LocalServer } from '../support/local-server.js';
import { useProvidersFile } from '../support/providers-file.js';
import { ServiceLog } from '../support/service-log.js';
import { TRANSPORTS } from '../support/transports.js';

const PAGE = '<!doctype html>\n<title>Please log in</title>';

/** A site that shows its page whatever it is asked. */
class Site extends LocalServer {
  requests = 0;

  constructor() {
    super(
      createServer((_, response) => {
        this.requests += 1;
        response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      }),
    );
  }
}

const site = new Site();
beforeAll(() => site.listen());
afterAll(() => site.close());

const file = useProvidersFile('providers.json');

describe.each(['chat-completions', 'responses'])('a base_url of the kind %s that names a site', (kind) => {
  it.each(TRANSPORTS)(
    'a web page in place of an answer is asked for once, and named in the log, over $name',
    async (transport) => {
      LineBudget.endAll();
      using log = ServiceLog.begin();
      site.requests = 0;
      await using service = await file.open({
        providers: { site: { kind, base_url: site.origin, discover: false } },
        models: [{ name: 'm', provider: 'site' }],
      });
      const said = await transport.run(service, { model: 'm', input: 'Hi' }).then(
        ({ response }) => response['error'],
        (error: unknown) => error,
      );
      expect(JSON.stringify(said)).toContain('answered in a form that is not understood: a web page.');
      expect(site.requests).toBe(1);
      expect(log.complaints.join()).toContain('the answer is a web page: base_url may name a site and not its API');
    },
  );
});
