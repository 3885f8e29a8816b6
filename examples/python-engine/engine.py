"""An engine in Python: runs the functions of one module as flows. docs/guides/engines-in-other-languages.md describes the protocol."""
import _thread, argparse, json, logging, os, pathlib, signal, sys, threading, time, traceback, types, urllib.error, urllib.request

parser = argparse.ArgumentParser()
for name, default in {"engine-id": f"python-{os.getpid()}", "source-dir": os.getcwd(), "module": None, "server": None, "nice": 0}.items():
    parser.add_argument(f"--{name}", default=default, type=int if name == "nice" else str)
parser.add_argument("--once", action="store_true")
args = parser.parse_args()
home = pathlib.Path(os.environ.get("MILLRACE_HOME") or pathlib.Path.home() / ".millrace")
me = {"engine_id": args.engine_id, "source_dir": args.source_dir, "module": args.module, "isolated": args.once, "nice": args.nice}

def post(path, body, patience=600, pause=0.2):
    """Status and body of the answer. Retried while the server is away: the server recognises a repeated request."""
    try:
        url = args.server or json.loads((home / "server.json").read_text())["url"]
        headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('MILLRACE_TOKEN')}"}
        with urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers), timeout=40) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)
    except OSError:
        if patience < 0: raise
        time.sleep(pause)
        return post(path, body, patience - pause, min(2 * pause, 5))

file, saved, flows = pathlib.Path(args.source_dir) / args.module, None, None

def current():
    """The module as its file is at this moment, because a run executes the code that was saved before the run was created."""
    global saved, flows
    if saved != (source := file.read_bytes()):
        fresh = types.ModuleType("flows")
        fresh.__file__ = str(file)
        exec(compile(source, file, "exec"), fresh.__dict__)
        saved, flows = source, fresh
    return flows

class Run(logging.Handler):
    def __init__(self, item):
        super().__init__()
        self.item, self.seq, self.lines, self.ended, self.one_at_a_time = item, 0, [], threading.Event(), threading.Lock()

    def emit(self, record):
        line = {"level": record.levelno, "logger": record.name, "message": record.getMessage(), "timestamp": time.time_ns() // 1000}
        self.lines.append({"run_id": self.item["run_id"], **line})

    def report(self):
        with self.one_at_a_time:
            lines, self.lines, self.seq = self.lines, [], self.seq + 1
            events = [{"kind": "logs", "seq": self.seq, "logs": lines}] if lines else []
            return post("/api/engine/report", {"engine_id": args.engine_id, "run_id": self.item["run_id"], "events": events})[1]

    def move(self, type, message=None, details={}):
        self.report()
        return post(f"/api/runs/{self.item['run_id']}/transition", {"type": type, "message": message, "details": details})[0] == 200

    def watch(self):
        while not self.ended.wait(2):
            if self.report().get("cancel") and not self.ended.is_set(): _thread.interrupt_main()

    def execute(self):
        if not (self.move("Pending") and self.move("Running")): return
        logging.getLogger().addHandler(self)
        threading.Thread(target=self.watch, daemon=True).start()
        try:
            end = ("Completed", None, {"result": getattr(current(), self.item["flow"])(**self.item["parameters"])})
        except KeyboardInterrupt:
            end = ("Cancelled", "cancelled")
        except Exception as error:
            end = ("Failed", f"{type(error).__name__}: {error}", {"traceback": traceback.format_exc()})
        self.ended.set()
        logging.getLogger().removeHandler(self)
        self.move(*end)

logging.getLogger().setLevel(logging.INFO)
if args.nice: os.nice(args.nice)
signal.signal(signal.SIGINT, signal.default_int_handler)  # background servers ignore SIGINT, and children inherit that
try:
    current()
except Exception:
    sys.exit(f"import failed: {post('/api/engine/failed', {**me, 'traceback': traceback.format_exc()}, patience=30)[1]}")
while True:
    status, work = post("/api/engine/work", {**me, "pid": os.getpid(), "wait_ms": 30_000}, patience=30)
    if status == 200 and work["run"]: Run(work["run"]).execute()
    elif status == 200 and work["exit"]: sys.exit(0)
    elif status != 200: time.sleep(1)
