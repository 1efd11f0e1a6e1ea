/* Before all journeys: databases from the samples by the real builder, the server standing alone
 * and TensorBoard with the plugin; after them both are ended. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

export interface Places {
  /** Address of `msprobe serve`, with a final slash. */
  standalone: string;
  /** Address of TensorBoard behind a path prefix, with a final slash. */
  tensorboard: string;
  /** Address of a server over an empty folder. */
  empty: string;
  /** The log folder of the first two. */
  logdir: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    places: Places;
  }
}

export const ROOT = resolve(import.meta.dirname, "../..");
const PREFIX = "/some/prefix";
const START_MS = 60_000;

export default async function setup(project: TestProject): Promise<() => void> {
  const work = mkdtempSync(join(tmpdir(), "tb-graph-ascend-"));
  const logdir = join(work, "logs");
  const empty = join(work, "empty");
  python(["-m", "tests.e2e.databases", logdir, empty]);
  const processes: ChildProcess[] = [];
  const start = (args: string[], address: string) => launch(processes, args, address);
  const [alone, board, bare] = [await freePort(), await freePort(), await freePort()];
  const places: Places = {
    logdir,
    standalone: `http://localhost:${alone}/`,
    tensorboard: `http://localhost:${board}${PREFIX}/`,
    empty: `http://localhost:${bare}/`,
  };
  const board_args = ["--path_prefix", PREFIX, "--load_fast", "false", "--host", "localhost"];
  await Promise.all([
    start(["-m", "msprobe", "serve", logdir, "--port", String(alone)], `${places.standalone}api/databases`),
    start(["-m", "msprobe", "serve", empty, "--port", String(bare)], `${places.empty}api/databases`),
    start(
      ["-m", "tensorboard.main", "--logdir", logdir, "--port", String(board), ...board_args],
      `${places.tensorboard}data/plugin/tb_graph_ascend/api/databases`,
    ),
  ]);
  project.provide("places", places);
  return () => {
    processes.forEach((one) => one.kill("SIGKILL"));
    rmSync(work, { recursive: true, force: true });
  };
}

/** The project's own Python where it has one, else that of the PATH. */
export function pythonPath(): string {
  const own = join(ROOT, ".venv/bin/python");
  return process.env.PYTHON ?? (existsSync(own) ? own : "python3");
}

export function python(args: string[]): string {
  const done = spawnSync(pythonPath(), args, { cwd: ROOT, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`python ${args.join(" ")}\n${done.stderr}`);
  return done.stdout;
}

async function launch(processes: ChildProcess[], args: string[], address: string): Promise<void> {
  const started = spawn(pythonPath(), args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  processes.push(started);
  let said = "";
  const listen = (text: Buffer): void => void (said += text.toString());
  started.stdout.on("data", listen);
  started.stderr.on("data", listen);
  const until = Date.now() + START_MS;
  while (Date.now() < until) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return;
    await new Promise((next) => setTimeout(next, 200));
  }
  throw new Error(`${args.join(" ")} did not answer at ${address}\n${said}`);
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.on("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => done(port));
    });
  });
}
