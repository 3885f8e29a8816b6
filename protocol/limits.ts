/**
 * Every limit of the interface, by name. A limit that clients can meet is defined only here, so that validation, the OpenAPI
 * document and the documentation agree.
 */

const KIB = 1024;
const MIB = 1024 * 1024;

/** Largest integer a JavaScript number holds exactly; int64 fields of bodies and ids in paths stay within it. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
export const INTEGER_MIN = Number.MIN_SAFE_INTEGER;
/** Largest int32 (levels, process ids, niceness). */
export const INT32_MAX = 2 ** 31 - 1;
export const INT32_MIN = -(2 ** 31);

/** Longest wait of a long-poll for work or for a lease. Engines give up at 40 s, ten seconds later. */
export const WAIT_MS_MAX = 30_000;
/** Body of an engine report: engines send at most 5,000 items per request, and items may carry artifacts. */
export const REPORT_BYTES_MAX = 64 * MIB;
/** Events of a report, and log lines of one event: the smallest JSON of so many would exceed the largest report. */
export const REPORT_ITEMS_MAX = 1_000_000;
/** Body of any other request: parameters and artifacts are at most 1 MiB each, the rest is small. */
export const BODY_BYTES_MAX = 8 * MIB;
/** All request bodies in flight together; beyond it new bodies are answered 503 instead of exhausting memory. */
export const BODIES_IN_FLIGHT_BYTES_MAX = 256 * MIB;
/** Bodies above this size are large: their total is bounded, so that smaller bodies need not wait for them. */
export const SMALL_BODY_BYTES_MAX = 64 * KIB;
/** Total of all large bodies besides the one checked, arriving or waiting for a decision: less than a second of work for two cores. */
export const LARGE_BODIES_BYTES_MAX = 32 * MIB;
/** Bodies above this size are parsed off the core thread, so that one large report does not stall dispatch. */
export const PARSE_ON_CORE_BYTES_MAX = 256 * KIB;
/** Rows of a report committed at once; larger reports are committed in slices, in order. */
export const REPORT_SLICE_ROWS_MAX = 2_000;
export const REPORT_SLICE_BYTES_MAX = MIB;

/** Levels of nesting in a body. Deeper nesting would exhaust the stack of recursive code. */
export const JSON_DEPTH_MAX = 128;
/**
 * Values in a body: scalars, arrays, objects and keys. Each costs up to a microsecond on the serving threads, whatever its
 * length; parameters of the largest size with seven-digit numbers stay within this limit.
 */
export const JSON_VALUES_MAX = 200_000;
/**
 * The first occurrence of a key in a body counts as this many values: parsing, sorting and copying an object takes some
 * microseconds for each key that the thread has not seen, in one large object as in many small ones.
 */
export const JSON_NEW_KEY_VALUES = 5;
/** Characters of a number. Converting an integer takes time that grows with the square of its digits. */
export const NUMBER_LENGTH_MAX = 1_000;

/** Names of anything: flows, runs, tasks, tags, rules, engines, keys, states. They are compared, indexed and shown in one line. */
export const NAME_LENGTH_MAX = 1_000;
/**
 * Name of a state. User code decides its length: longer ones are truncated, with a note in the text. Counts of runs go by it, and
 * 600 characters of UTF-8 fit into a row of an index of PostgreSQL (2,704 bytes).
 */
export const STATE_NAME_LENGTH_MAX = 600;
/** Names in one list or map: tags, flows of a rule, resources of a run. Each event or hand-out may check each of them. */
export const NAMES_COUNT_MAX = 1_000;
/** Paths and addresses: the longest path that Linux accepts. */
export const PATH_LENGTH_MAX = 4_096;
/** Cron expressions, recurrence rules and times, which the core reads character by character. */
export const EXPRESSION_LENGTH_MAX = 4_096;
/** Texts for people: descriptions, messages and subjects in rules. */
export const TEXT_LENGTH_MAX = 65_536;
/** Message of a state. User code decides the length of an error message: longer ones are truncated, with a note in the text. */
export const MESSAGE_LENGTH_MAX = 65_536;
/** Message of a log line; longer ones are truncated, with a note in the text. */
export const LOG_MESSAGE_LENGTH_MAX = 262_144;
/** Details of a state as JSON text; larger ones are replaced by their size and the beginning of their traceback. */
export const DETAILS_BYTES_MAX = MIB;
/** Payload of an event as JSON text. */
export const PAYLOAD_BYTES_MAX = MIB;
/** Answer to a question as JSON text. */
export const ANSWER_BYTES_MAX = MIB;
/** Parameter schema and options of a flow, each as JSON text; the core keeps them in memory. */
export const FLOW_BYTES_MAX = MIB;
/** Match and actions of a rule as JSON text; the core keeps them in memory. */
export const RULE_BYTES_MAX = MIB;
/** Rules created over the API, and match and actions of all rules together as JSON text: every event is compared with them. */
export const RULES_COUNT_MAX = 10_000;
export const RULES_BYTES_MAX = 64 * MIB;
/** Open expectations of rules at one time; they are held in memory. */
export const EXPECTATIONS_OPEN_MAX = 100_000;
/** Resources in leases that user code holds, each counted as often as it is held. */
export const LEASED_RESOURCES_MAX = 100_000;
/** Actions of a rule: each firing runs all of them. */
export const RULE_ACTIONS_MAX = 100;
/** Parents of one task run: a task may join this many mapped task runs. */
export const PARENTS_COUNT_MAX = 100_000;

/** Run parameters as JSON text. */
export const PARAMETERS_BYTES_MAX = MIB;
/** Places of a schema that one check of parameters or an answer visits: some ten milliseconds. Nested branches multiply. */
export const SCHEMA_STEPS_MAX = 20_000;
/** Largest parameters that the core keeps in memory; the texts of a run with larger ones are read from the store when needed. */
export const PARAMETERS_IN_MEMORY_BYTES_MAX = 4 * KIB;
/** Artifact data as JSON text; exactly this many bytes still pass. */
export const ARTIFACT_BYTES_MAX = 1_048_576;
/**
 * Problems of the served directory that Settings lists: the user fixes the first ones first, and each entry holds its full
 * error.
 */
export const CODE_PROBLEMS_MAX = 200;
/** Schedules that GET /api/server names as silent after a step of the clock; one command resumes all of them. */
export const CLOCK_SCHEDULES_SHOWN = 20;
/** A flow's return value in `details.result`; of larger values only the size is recorded. */
export const RESULT_BYTES_MAX = 64_000;
/** Variable value as JSON text. */
export const VARIABLE_BYTES_MAX = 65_536;
export const VARIABLE_NAME_LENGTH_MAX = 128;
/** How long the first answer to an `Idempotency-Key` is kept: 24 hours, in microseconds. */
export const IDEMPOTENCY_KEEP_US = 24 * 3_600 * 1_000_000;
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

/**
 * Approximate size of one part of an answer. A list is made and sent part by part, the next part when the connection has taken
 * the last, so that neither a reader nor the gateway holds more. A single record may be larger. A character counts as one byte.
 */
export const ANSWER_PART_BYTES_MAX = 256 * KIB;
/** A page in the order of ids ends early at about this size, with its cursor: clients parse a page as one text. */
export const ANSWER_PAGE_BYTES_MAX = 16 * MIB;
/** Answers up to this size are sent whole: the system takes them at once. For larger answers the untaken bytes are counted. */
export const WHOLE_ANSWER_BYTES_MAX = 64 * KIB;
/** Total of the answer parts that connections have not taken; beyond it lists are answered 503. */
export const ANSWERS_UNSENT_BYTES_MAX = 128 * MIB;
/** Task runs or artifacts of a run in one answer, if the client requests pages. */
export const RUN_PARTS_PAGE_MAX = 1_000;
/** Page sizes: [default, maximum]; the minimum is 1. Larger limits are lowered silently, 0 is raised to 1. */
export const RUNS_PAGE = [50, 500] as const;
/** Most runs that a page of a search examines (about 25 ms of a reader thread); the next page continues from there. */
export const SEARCHED_RUNS_MAX = 20_000;
/** Longer parameters are not searched: otherwise a page would read up to SEARCHED_RUNS_MAX times PARAMETERS_BYTES_MAX. */
export const SEARCHED_PARAMETERS_BYTES_MAX = 2_048;
export const SEARCH_LENGTH_MAX = 200;
export const TASK_RUNS_PAGE = [50, 500] as const;
/** Hours of GET /api/stats: [default, maximum]. */
export const STATS_HOURS = [24, 24 * 31] as const;
export const LOGS_PAGE = [1_000, 10_000] as const;
export const LOG_SEARCH_PAGE = [100, 1_000] as const;
/** Log text that a page of a search examines: about 15 ms of a reader thread, twice that where every line is parsed. */
export const SEARCHED_LOG_BYTES_MAX = 4 * MIB;
/** Blocks that such a page looks at (about 55 ms): text that level or flow exclude is not read, so bytes do not bound it. */
export const SEARCHED_LOG_BLOCKS_MAX = 20_000;
export const EVENTS_PAGE = [100, 1_000] as const;
export const ARTIFACTS_PAGE = [50, 500] as const;
export const EXPECTATIONS_PAGE = [200, 200] as const;
export const BACKFILLS_PAGE = [50, 500] as const;
export const FIRINGS_COUNT_MAX = 200;
/** Latest runs shown with each flow. */
export const RECENT_RUNS_COUNT = 10;
/** Most of the latest ended runs that a list of flows can include. */
export const FLOW_RESULTS_MAX = 50;

/** Projected fires per schedule in an upcoming list, and how far ahead a fire can be skipped. */
export const PROJECTED_FIRES_MAX = 100;
export const SKIP_AHEAD_FIRES_MAX = 100;
/** Shortest interval of a schedule: that of a recurrence rule by the second. Each fire is a run. */
export const SCHEDULE_INTERVAL_SECONDS_MIN = 1;
/** Parameters of a schedule, as JSON text: they are held in memory, and parsed and rendered on the core. */
export const SCHEDULE_PARAMETERS_BYTES_MAX = 16 * KIB;
/** Work for the templates in the parameters of one fire: about a millisecond of the core (Budget). */
export const SCHEDULE_WORK_MAX = 10_000;
/** Future fires per schedule: [default, maximum], also for all schedules together: computing them blocks the core. */
export const FIRES_COUNT = [100, 1_000] as const;
export const FIRES_TOTAL_MAX = 20_000;
/** A calendar lists runs one by one up to one fire a minute: a week of that is 10,080 entries per schedule. */
export const SCHEDULE_RUNS_EACH_MAX = 60;
export const UPCOMING_RUNS_MAX = 200;
export const PREVIEW_COUNT = [3, 20] as const;
export const CATCHUP_COUNT_DEFAULT = 100;
export const BACKFILL_VALUES_MAX = 100_000;
/** Parameters of all runs of a backfill together: they are written in one commit. */
export const BACKFILL_BYTES_MAX = 64 * MIB;
/** Runs of a backfill that one step of the core creates or cancels: some 10 or 30 ms. */
export const BACKFILL_SLICE_RUNS = 2_000;
/** Runs of a backfill in the queue beyond those that may run at once: only this many are marked as waiting. */
export const BACKFILL_NEAR_MAX = 100;
/** Runs of one batch: one step of the core adds them, one commit writes them, and one answer names them. */
export const RUN_BATCH_RUNS_MAX = 10_000;
/** Body of a batch of runs. One commit writes all of it, and the commits of others wait for that commit. */
export const RUN_BATCH_BYTES_MAX = 8 * MIB;
/** Parameters, tags and names of all runs of a batch, what they have in common counted for each run: the same commit. */
export const RUN_BATCH_TEXT_MAX = 16 * MIB;
/** Tags of all runs of a batch: each is a row. */
export const RUN_BATCH_TAGS_MAX = 100_000;
/** Most runs of a batch that one step of the core reads, and the time after which the step ends before that. */
export const RUN_BATCH_SLICE_RUNS = 500;
export const RUN_BATCH_SLICE_US = 20_000;
/** Flows that one batch registers or updates: moving a flow to another module looks at every unfinished run of its project. */
export const RUN_BATCH_FLOWS_MAX = 100;
/** Text of the refusal of one run in the answer to a batch; the answer is kept for a day under its `Idempotency-Key`. */
export const RUN_BATCH_ERROR_LENGTH_MAX = 300;
/** One day. */
export const BACKFILL_INTERVAL_SECONDS_DEFAULT = 86_400;

/** Length of a `traceparent` of version 00 (W3C Trace Context), the only version that is written. */
export const TRACEPARENT_LENGTH = 55;

/** Two equal moves closer together than this are one move sent twice (reason `duplicate`). */
export const DUPLICATE_WINDOW_US = 1_000_000;
/** An engine must acknowledge a handed-out run within this time; the engine of this package does so every five seconds. */
export const ACKNOWLEDGE_WAIT_US = 60_000_000;
/** A run that has not started this long after its scheduled time is Late. */
export const LATE_AFTER_US = 15_000_000;

/** Commits whose stream messages may be on their way to a gateway whatever their size. */
export const FEED_COMMITS_MAX = 4;
/** Stream messages on their way to a gateway; messages beyond it become a gap that is reported to the readers. */
export const FEED_BYTES_MAX = 8 * MIB;

/** Runs that one engine may hold at a time: more share one thread of user code, which is then slower than a second engine. */
export const ENGINE_SLOTS_MAX = 1_024;
/**
 * Body of an exchange, which the core parses: about 10 ms of its thread. A larger report is a request of its own, which is cut
 * into slices.
 */
export const EXCHANGE_BYTES_MAX = MIB;
/** Runs listed by an exchange: those that the engine holds, and those that have just ended. */
export const EXCHANGE_HELD_MAX = 2 * ENGINE_SLOTS_MAX;
export const EXCHANGE_REPORTS_MAX = 2 * ENGINE_SLOTS_MAX;

/** Requests that wait for the end or a change of a run: each holds a connection, of which a process has some thousands. */
export const RUN_WAITS_MAX = 10_000;

/**
 * Flows with series of their own in GET /metrics. With nine states each, they and all other metrics stay below 2,000 series;
 * the rest is counted as flow "other".
 */
export const METRIC_FLOWS_MAX = 140;
/** Resources with series of their own in GET /metrics; the rest is summed as "other". */
export const METRIC_RESOURCES_MAX = 100;

/** Engines with series of their own in GET /metrics: the first to register; the rest is summed as "other". */
export const METRIC_ENGINES_MAX = 30;

/** Stream messages kept for reconnecting clients; an older number gets resync. */
export const STREAM_RING_COUNT = 4_096;
/**
 * Approximate size of one piece of the stream. Further pieces follow, with other work between them: each piece is copied for
 * every reader, of which there may be thousands. A single message may be larger.
 */
export const STREAM_PIECE_BYTES_MAX = 64 * KIB;
/** Total of the pieces that readers of the stream have not taken; beyond it a reader due to get a large piece gets resync. */
export const STREAM_UNSENT_BYTES_MAX = 64 * MIB;
/** Entries of each list in a filter of the stream: each message is compared with all of them. */
export const STREAM_FILTER_ITEMS_MAX = 100;
/** Parameters in a filter of runs or of the stream: each is looked up in each run that is examined. */
export const PARAMETER_FILTERS_MAX = 8;
/** Idle time of a stream after which a comment line keeps the connection open. */
export const STREAM_KEEP_ALIVE_MS = 15_000;

/** MCP sessions kept: a session holds only the client's name, and a client without a session is called `unknown`. */
export const MCP_SESSIONS_MAX = 1_000;
/** An MCP session unused for this long expires. */
export const MCP_SESSION_IDLE_US = 3_600_000_000;
/** Length of the client name of a session; it becomes part of `created_by`. */
export const MCP_CLIENT_NAME_LENGTH_MAX = 128;
/** Page sizes of MCP tools: [default, maximum]. Smaller than those of the API, because a model reads every row. */
/** Longest wait of wait_for_run: hosts commonly give up a call after a minute. */
export const MCP_WAIT_SECONDS_MAX = 50;
export const MCP_RUNS_PAGE = [20, 200] as const;
export const MCP_LOGS_PAGE = [200, 1_000] as const;
export const MCP_LOG_SEARCH_PAGE = [20, 200] as const;
export const MCP_EVENTS_PAGE = [50, 500] as const;
export const MCP_ARTIFACTS_PAGE = [50, 200] as const;

/** Task runs that get_run and explain_failure show. */
export const MCP_TASK_RUNS_PAGE = [200, 500] as const;
/** A page for an MCP tool ends early at about this size: it is parsed and written twice on the serving thread. */
export const MCP_PAGE_BYTES_MAX = 512 * KIB;
/** Answer of one read for an MCP tool; a record of the largest size fits. */
export const MCP_ANSWER_BYTES_MAX = 8 * MIB;

/** Longest time limit of a custom route; longer work belongs in a run. */
export const ROUTE_MS_MAX = 300_000;
/** Body of the answer of a custom route, which is held in memory on its way to the client. */
export const ROUTE_ANSWER_BYTES_MAX = 8 * MIB;
/** Concurrent requests for custom routes. */
export const ROUTE_REQUESTS_MAX = 1_000;
/** Concurrent requests for incoming hooks: anyone can send them, so most places stay for routes that need the token. */
export const HOOK_REQUESTS_MAX = 100;
/** Body of a delivery to an incoming hook. Anyone can send one, so a delivery may be less than other bodies. */
export const HOOK_BODY_BYTES_MAX = 2 * MIB;
/** Time limit for one call of the function of a code rule, as for every action of a rule. */
export const RULE_CALL_MS_MAX = 10_000;
/** Time limit for one call of a hook. */
export const HOOK_MS_MAX = 60_000;

/** Text of all templates of a rule together: parsing takes a microsecond per character on the core. */
export const RULE_TEMPLATES_LENGTH_MAX = 64 * KIB;
/** Depth of rule chains: an action whose event was made by a longer chain fails. */
export const RULE_CHAIN_DEPTH_MAX = 8;
/** Attempts for a webhook or mail. */
export const OUTBOUND_ATTEMPTS_MAX = 3;
export const WEBHOOK_REDIRECTS_MAX = 3;

/** Result of a step in the store, as JSON text; a larger one is a file in the home. */
export const STEP_INLINE_BYTES_MAX = 64_000;
/** Result of a step: it is held in memory as a whole where it is made, written and read. */
export const STEP_BYTES_MAX = 16 * MIB;
/** Results up to this size are listed with their steps; larger ones are requested when the flow asks for the step. */
export const STEP_LISTED_BYTES_MAX = 1_024;
/** Steps, or waits, of a run in one answer. */
export const STEPS_PAGE = [1_000, 1_000] as const;
/** Waits of a run in one request, and open at one time: one step of the core arms them, one commit writes them. */
export const WAITS_MAX = 1_000;
/** Filter of a wait for an event, as JSON text; the core keeps it in memory and compares every event of that name with it. */
export const WAIT_FILTER_BYTES_MAX = 8 * KIB;
/** Body that answers a callback: it is stored with the wait, and read with the waits of its run. */
export const CALLBACK_BYTES_MAX = 64_000;
/** Requests to URLs of callbacks that are not open, per second and at once: they come without a token, by mistake or to guess. */
export const CALLBACK_MISSES = { perSecond: 10, atOnce: 100 } as const;
/** What a parked run goes on with (attempt and times), as JSON text: the core keeps it in memory. */
export const PROGRESS_BYTES_MAX = 4 * KIB;
/** Depth of children: a flow that calls itself by mistake ends here. */
export const CHILD_DEPTH_MAX = 8;
/** Shorter waits stay in the engine, in seconds: a park costs two commits and the flow begins again from its top. */
export const PARK_AFTER_SECS_DEFAULT = 5;
