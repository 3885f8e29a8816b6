"""An engine in Python: runs the functions of one module as flows, side by side. docs/guides/engines-in-other-languages.md describes the protocol."""
import argparse, ctypes, json, logging, os, pathlib, sys, threading, time, traceback, types, urllib.error, urllib.request

RUNS_MAX = 32  # runs at a time; each has a thread
REPORTS_BYTES_MAX = 500_000  # of an exchange, which has at most 1 MiB; a larger report is a request of its own

parser = argparse.ArgumentParser()
for name, default in {"engine-id": f"python-{os.getpid()}", "source-dir": os.getcwd(), "module": None, "server": None, "nice": 0}.items():
    parser.add_argument(f"--{name}", default=default, type=int if name == "nice" else str)
parser.add_argument("--once", action="store_true")
args = parser.parse_args()
home = pathlib.Path(os.environ.get("MILLRACE_HOME") or pathlib.Path.home() / ".millrace")
me = {"engine_id": args.engine_id, "source_dir": args.source_dir, "module": args.module, "isolated": args.once, "nice": args.nice}

def post(path, body, patience, pause=0.2):
    """Status and body of the answer. Retried while the server is away: the server recognises a repeated request."""
    try:
        url = args.server or json.loads((home / "server.json").read_text())["url"]
        headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('MILLRACE_TOKEN')}"}
        with urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers), timeout=40) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal: return refusal.code, json.load(refusal)
    except OSError:
        if patience < 0: raise
        time.sleep(pause)
        return post(path, body, patience - pause, min(2 * pause, 5))

file, saved, flows, loading = pathlib.Path(args.source_dir) / args.module, None, None, threading.Lock()

def current():
    """The module as its file is at this moment, because a run executes the code that was saved before the run was created."""
    global saved, flows
    with loading:
        if saved != (source := file.read_bytes()):
            fresh = types.ModuleType("flows")
            fresh.__file__ = str(file)
            exec(compile(source, file, "exec"), fresh.__dict__)
            saved, flows = source, fresh
        return flows

class Cancelled(BaseException): """Raised in the thread of a run that is to stop."""

class Run:
    """A run, from the answer that gives it until its last report is stored."""
    def __init__(self, item):
        self.item, self.seq, self.events, self.lock = item, 0, [], threading.Lock()
        self.state, self.thread, self.cancelled = "new", threading.Thread(target=self.execute, daemon=True), False
        self.name = {"run_id": item["run_id"], "lease": item["lease"]}
        for type in ("Pending", "Running"): self.move(type)

    def add(self, kind, last=False, **fields):
        with self.lock:
            if self.state == "ended": return
            if last: self.state = "ended"
            self.seq += 1
            self.events.append({"kind": kind, "seq": self.seq, **fields})
        news.set()

    def move(self, type, message=None, details={}, last=False):
        state = {"type": type, "name": type, "message": message, "details": details, "timestamp": time.time_ns() // 1000}
        self.add("run_transition", last, state=state)

    def execute(self):
        threads.run = self
        try: self.move(*self.call(), last=True)
        except Cancelled: self.move("Cancelled", "cancelled", last=True)

    def call(self):
        try:
            result = getattr(current(), self.item["flow"])(**self.item["parameters"])
            json.dumps(result)  # raises where the result is no JSON
            return "Completed", None, {"result": result}
        except Cancelled: raise
        except BaseException as error:
            return "Failed", f"{type(error).__name__}: {error}", {"traceback": traceback.format_exc()}

    def cancel(self):
        """Code that is inside a call of C, such as a long sleep, notices the exception when that call returns."""
        if self.state != "running" or self.cancelled: return
        self.cancelled = True
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), ctypes.py_object(Cancelled))

    def settle(self, outcome):
        """The answer to a report: begins the run once its start is stored; true when nothing is left to report."""
        with self.lock: self.events = [event for event in self.events if event["seq"] > outcome.get("last_seq", 0)]
        if outcome.get("status", 200) not in (200, 503): return True
        if self.state == "new" and "run_state" in outcome:
            if outcome["run_state"]["type"] != "Running": return True
            self.state = "running"
            self.thread.start()
        return self.state == "ended" and not self.events

class Lines(logging.Handler):
    """Log lines belong to the run whose thread writes them."""
    def emit(self, record):
        if run := getattr(threads, "run", None):
            line = {"run_id": run.name["run_id"], "level": record.levelno, "logger": record.name, "message": record.getMessage()}
            run.add("logs", logs=[{**line, "timestamp": time.time_ns() // 1000}])

news, threads, held, number, slots, leaving = threading.Event(), threading.local(), {}, 0, 1, False
wall, cpu = time.monotonic(), time.process_time()

def offer():
    """How many runs this engine takes by now: twice as many while its threads mostly wait, one while they compute."""
    global wall, cpu, slots
    if held and time.monotonic() - wall > 0.2:
        busy = (time.process_time() - cpu) / (time.monotonic() - wall)
        slots = 1 if busy > 0.7 else min(RUNS_MAX, 2 * slots) if busy < 0.4 and len(held) >= slots else slots
        wall, cpu = time.monotonic(), time.process_time()
    return 0 if leaving else max(0, (1 if args.once else slots) - len(held))

def reports():
    """What happened in the runs since their last reports, as much as fits into an exchange; a larger report is sent alone."""
    taken, length = [], 0
    for run in list(held.values()):
        with run.lock: events = run.events[:]
        size = len(json.dumps(events)) if events else 0
        if size > REPORTS_BYTES_MAX:
            status, answer = post("/api/engine/report", {"engine_id": args.engine_id, **run.name, "events": events}, 600)
            if run.settle(answer if status == 200 else {"status": status}): held.pop(run.name["lease"], None)
        elif size and length + size <= REPORTS_BYTES_MAX:
            taken, length = taken + [{**run.name, "events": events}], length + size
    return taken

def exchange():
    """One request for all runs: reports what happened in them, learns which are to stop, and takes further ones."""
    global number, leaving
    number, said = number + 1, reports()
    names = [run.name for run in held.values()]
    body = {**me, "pid": os.getpid(), "exchange": number, "slots": offer(), "held": names, "reports": said, "hold": not held}
    status, answer = post("/api/engine/exchange", body, 600 if held else 30)
    if status != 200: return time.sleep(1)
    for outcome in answer["reports"]:
        if outcome["lease"] in held and held[outcome["lease"]].settle(outcome): del held[outcome["lease"]]
    for stop in answer["stop"]:
        if run := held.get(stop["lease"]):
            run.cancel()
            if stop["reason"] == "gone" and run.state != "running": del held[stop["lease"]]
    for item in answer["runs"]:
        if item["lease"] not in held: held[item["lease"]] = Run(item)
    leaving = leaving or answer["exit"]

logging.basicConfig(level=logging.INFO, handlers=[Lines()])
if args.nice: os.nice(args.nice)
try: current()
except Exception: sys.exit(f"import failed: {post('/api/engine/failed', {**me, 'traceback': traceback.format_exc()}, 30)[1]}")
while held or not leaving:
    exchange()
    if held and news.wait(0.1): news.clear()
