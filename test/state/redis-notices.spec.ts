import { Logger } from '@nestjs/common';
import { expect, it, jest } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import { RedisKeys } from '../../src/state/redis/keys.js';
import { append, newTenant } from '../../src/testing/state/records.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { openRedis } from './redis-fixture.js';

describeRedis('notices between replicas over one Redis', () => {
  it.each(['deleted', 'logged', 'ended', 'enqueued'] as const)(
    'notices are heard after another program has published on the channel "%s", of which one line is logged',
    async (topic) => {
      await using opened = await openRedis();
      const warn = jest.spyOn(Logger.prototype, 'warn');
      const client = new Client(process.env['TEST_REDIS_URL'] ?? '');
      const channel = new RedisKeys(opened.prefix).channel(topic);
      const { promise: heard, resolve: hear } = Promise.withResolvers<readonly string[]>();
      const { promise: listens, resolve: listen } = Promise.withResolvers<undefined>();
      const replica = await opened.replica();
      replica.notices.subscribe({ deleted: hear, interrupted: () => undefined, resumed: () => listen(undefined) });
      while ((await client.pubsub('NUMSUB', channel))[1] !== 2) await Promise.race([listens, client.ping()]);

      const foreign = ['not json', '', '{"a":1}', 'null', '7', '[1]', '[["a"]]', '[{}]'];
      for (const text of foreign) expect(await client.publish(channel, text)).toBe(2);
      const tenant = newTenant();
      await append(opened.backend.responses, tenant, 'a');
      await opened.backend.responses.delete(tenant, 'a', { cascade: false });
      expect(await heard).toEqual(['a']);
      const lines = warn.mock.calls.filter(([line]) => String(line).includes(channel));
      // One of each replica.
      expect(lines).toHaveLength(2);
      warn.mockRestore();
      client.disconnect();
    },
  );
});
