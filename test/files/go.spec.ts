// Slow: with LARGE_SDKS=true it builds a program with Go, once per version of the SDK.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { findOnPath } from '../support/server-process.js';
import { WITHOUT_LARGE } from '../support/installed-packages.js';
import { itUnless } from '../support/tests-with-programs.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = resolve(ROOT, process.env['ANTIPHON_CACHE'] ?? '.cache', 'go');

/** How long a build may take before the test is left out: it is a minute of work, and goes on with the next run. */
const BUILD_MS = 240_000;

const MODULE = `module antiphon.test/client

go 1.22

require github.com/openai/openai-go/v3 v3.99.0
`;

const PROGRAM = `package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func named(text, name string) io.Reader {
	return openai.File(strings.NewReader(text), name, "text/plain")
}

func main() {
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey("unused"), option.WithMaxRetries(0))

	file := must(client.Files.New(ctx, openai.FileNewParams{
		File: named("Bees dance.", "bees.txt"), Purpose: openai.FilePurposeUserData}))
	answer := must(client.Files.Content(ctx, file.ID))
	content := must(io.ReadAll(answer.Body))
	listed := must(client.Files.List(ctx, openai.FileListParams{})).Data

	upload := must(client.Uploads.New(ctx, openai.UploadNewParams{
		Bytes: 10, Filename: "leave.txt", MimeType: "text/plain", Purpose: openai.FilePurposeUserData}))
	ids := []string{}
	for _, text := range []string{"Leave ", "days"} {
		part := must(client.Uploads.Parts.New(ctx, upload.ID, openai.UploadPartNewParams{Data: named(text, "part")}))
		ids = append(ids, part.ID)
	}
	completed := must(client.Uploads.Complete(ctx, upload.ID, openai.UploadCompleteParams{PartIDs: ids}))

	store := must(client.VectorStores.New(ctx, openai.VectorStoreNewParams{Name: openai.String("Go")}))
	batch := must(client.VectorStores.FileBatches.NewAndPoll(ctx, store.ID, openai.VectorStoreFileBatchNewParams{
		FileIDs: []string{file.ID, completed.File.ID}}, 10))
	found := must(client.VectorStores.Search(ctx, store.ID, openai.VectorStoreSearchParams{
		Query: openai.VectorStoreSearchParamsQueryUnion{OfString: openai.String("bees")}, MaxNumResults: openai.Int(1)}))

	deleted := must(client.Files.Delete(ctx, file.ID)).Deleted
	_, err := client.Files.Get(ctx, file.ID)
	var refusal *openai.Error
	gone := errors.As(err, &refusal) && refusal.StatusCode == 404

	text := must(json.Marshal([]any{string(content), len(listed), string(completed.Status), completed.File.Bytes,
		string(batch.Status), batch.FileCounts.Completed, found.Data[0].Filename, deleted, gone}))
	fmt.Println(string(text))
}
`;

const client = join(CACHE, createHash('sha256').update(MODULE).update(PROGRAM).digest('hex').slice(0, 16));
const reason = existsSync(client) ? undefined : (WITHOUT_LARGE ?? build());
const service = useService({});

itUnless(reason, 'openai-go stores, uploads, indexes, finds and deletes files', async () => {
  const { stdout } = await promisify(execFile)(client, [service.baseURL]);
  const expected = ['Bees dance.', 1, 'completed', 10, 'completed', 2, 'bees.txt', true, true];
  expect(JSON.parse(stdout)).toEqual(expected);
});

/** Builds the client into the cache. Why it could not, if so. */
function build(): string | undefined {
  const go = process.env['GO'] ?? findOnPath('go');
  if (go === undefined) return 'go is not on PATH, and GO does not name it';
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(`${client}-`);
  writeFileSync(join(draft, 'go.mod'), MODULE);
  writeFileSync(join(draft, 'main.go'), PROGRAM);
  const own = { GOPATH: join(CACHE, 'modules'), GOCACHE: join(CACHE, 'build'), GOFLAGS: '-mod=mod -modcacherw' };
  const options = { cwd: draft, env: { ...process.env, ...own }, timeout: BUILD_MS, encoding: 'utf8' } as const;
  const { status, stderr, error } = spawnSync(go, ['build', '-o', 'client', '.'], options);
  if (status === 0) renameSync(join(draft, 'client'), client);
  rmSync(draft, { recursive: true });
  return status === 0 ? undefined : `go cannot build it: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
}
