import { createApp, Environment, listenAddress } from 'antiphon';

import { platform } from './platform.js';

const app = await createApp(platform);
const environment = app.get(Environment);
await app.listen(environment.PORT, listenAddress(environment));
process.stdout.write(`The platform listens on ${await app.getUrl()}\n`);
