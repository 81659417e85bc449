/** Ends the servers that the test run was given. */
export default async function stopServers(): Promise<void> {
  await globalThis.testCluster?.stop();
  await globalThis.testRedis?.stop();
  await globalThis.testRedisCluster?.stop();
}
