/** Ends the server that the test run was given. */
export default async function stopTestCluster(): Promise<void> {
  await globalThis.testCluster?.stop();
  await globalThis.testRedis?.stop();
}
