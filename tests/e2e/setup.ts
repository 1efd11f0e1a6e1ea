/* Before all journeys: databases from the samples by the real builder, the server standing alone
 * and TensorBoard with the plugin; after them both are ended. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

export interface Places {
  /** Address of `msprobe serve`, with a final slash. */
  standalone: string;
  /** Address of TensorBoard behind a path prefix, with a final slash. */
  tensorboard: string;
  /** Address of a server over a folder that holds dumps but no result files. */
  empty: string;
  /** The same, to be built in. */
  building: string;
  buildingFolder: string;
  /** The same, with dumps of a model whose modules were renamed. */
  renaming: string;
  /** Address of a server that may not write into its log folder. */
  readonly: string;
  readonlyFolder: string;
  /** Address of a server that was started with --read-only over the log folder. */
  viewing: string;
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
  const building = join(work, "building");
  const renaming = join(work, "renaming");
  const readonly = join(work, "readonly");
  python(["-m", "tests.e2e.databases", logdir, empty, building, renaming]);
  forbidWriting(join(logdir, "renamed"), readonly);
  const processes: ChildProcess[] = [];
  // The two largest comparisons are ready some tests later; the server shows them then. Who tries out a
  // journey that needs neither saves their minute with LARGE=0.
  const large = process.env.LARGE === "0" ? {} : { "tests.e2e.large": "large", "tests.e2e.many_ranks": "many" };
  for (const [made, folder] of Object.entries(large)) {
    processes.push(spawn(pythonPath(), ["-m", made, join(logdir, folder)], { cwd: ROOT, stdio: "ignore" }));
  }
  const start = (args: string[], address: string, before: string[] = []) =>
    launch(processes, [...before, pythonPath(), "-m", ...args], address);
  const serve = async (folder: string, before: string[] = [], flags: string[] = []): Promise<string> => {
    const port = await freePort();
    const address = `http://localhost:${port}/`;
    const args = ["msprobe", "serve", folder, "--port", String(port), ...flags];
    await start(args, `${address}api/databases`, before);
    return address;
  };
  const board = await freePort();
  const tensorboard = `http://localhost:${board}${PREFIX}/`;
  const flags = ["--logdir_spec", `runs:${logdir}`, "--path_prefix", PREFIX, "--bind_all"];
  const [standalone, bare, site, renamed, locked, viewing] = await Promise.all([
    serve(logdir),
    serve(empty),
    serve(building),
    serve(renaming),
    serve(readonly, WITHOUT_OVERRIDE),
    serve(logdir, [], ["--read-only"]),
    start(
      ["tensorboard.main", "--load_fast", "false", "--port", String(board), ...flags],
      `${tensorboard}data/plugin/tb_graph_ascend/api/databases`,
    ),
  ]);
  const places: Places = {
    logdir,
    standalone,
    tensorboard,
    empty: bare,
    building: site,
    buildingFolder: building,
    renaming: renamed,
    readonly: locked,
    readonlyFolder: readonly,
    viewing,
  };
  project.provide("places", places);
  return () => {
    processes.forEach((one) => one.kill("SIGKILL"));
    chmodSync(join(readonly, "renamed"), 0o755);
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

/** Root writes where it may not; without this capability it is held to the folder's permissions. */
const WITHOUT_OVERRIDE = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override"] : [];

function forbidWriting(folder: string, logdir: string): void {
  cpSync(folder, join(logdir, "renamed"), { recursive: true });
  chmodSync(join(logdir, "renamed"), 0o555);
}

/** Start a server and wait until it answers; it joins the processes to be ended. */
export async function launch(processes: ChildProcess[], command: string[], address: string): Promise<void> {
  const [program = "", ...args] = command;
  // Files that a journey holds stay unread; see the module there.
  const env = { ...process.env, PYTHONPATH: join(ROOT, "tests", "held_open") };
  const started = spawn(program, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
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
  throw new Error(`${command.join(" ")} did not answer at ${address}\n${said}`);
}

export function freePort(): Promise<number> {
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
